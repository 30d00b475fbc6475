import './administration/cli/end-on-signals.js';
// Imported dynamically, so that signals are handled first: Node.js loads all static imports before it runs any
const { runMigrate } = await import('./administration/migrate.program.js');
await runMigrate(process);
