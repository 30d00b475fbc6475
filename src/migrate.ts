import './administration/cli/end-on-signals.js';
// This import is dynamic, because Node.js loads all static imports before it runs the file that handles signals
const { runMigrate } = await import('./administration/migrate.program.js');
await runMigrate(process);
