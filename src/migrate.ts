import './administration/cli/end-on-signals.js';
// If this import were static, Node.js would load all commands before end-on-signals.js runs, and miss earlier signals
const { runMigrate } = await import('./administration/migrate.program.js');
await runMigrate(process);
