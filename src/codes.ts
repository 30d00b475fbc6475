import './administration/cli/end-on-signals.js';
// Imported dynamically, so that signals are handled first: Node.js loads all static imports before it runs any
const { runCodes } = await import('./administration/codes.program.js');
await runCodes(process);
