import './administration/cli/end-on-signals.js';
// Node.js loads all static imports before it runs a file. With a static import, signals would be handled too late
const { runMigrate } = await import('./administration/migrate.program.js');
await runMigrate(process);
