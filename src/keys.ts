import './administration/cli/end-on-signals.js';
// If this import were static, all commands would load before end-on-signals.js runs. A signal would find no listener
const { runKeys } = await import('./administration/keys.program.js');
await runKeys(process);
