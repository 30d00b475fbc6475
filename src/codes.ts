import './administration/cli/end-on-signals.js';
// This import is dynamic, because Node.js loads all static imports before it runs the file that handles signals
const { runCodes } = await import('./administration/codes.program.js');
await runCodes(process);
