import './administration/cli/end-on-signals.js';
// This import is dynamic: Node.js would load a static import before it runs end-on-signals.js, and could miss a signal
const { runMigrate } = await import('./administration/migrate.program.js');
await runMigrate(process);
