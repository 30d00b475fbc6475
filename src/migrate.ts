import './administration/cli/end-on-signals.js';
// If this import were static, all commands would load before end-on-signals.js runs. A signal would find no listener
const { runMigrate } = await import('./administration/migrate.program.js');
await runMigrate(process);
