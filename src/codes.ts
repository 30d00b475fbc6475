import './administration/cli/end-on-signals.js';
// If this import were static, all commands would load before end-on-signals.js runs. A signal would find no listener
const { runCodes } = await import('./administration/codes.program.js');
await runCodes(process);
