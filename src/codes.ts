import './administration/cli/end-on-signals.js';
// If this import were static, Node.js would load all commands before end-on-signals.js runs, and miss earlier signals
const { runCodes } = await import('./administration/codes.program.js');
await runCodes(process);
