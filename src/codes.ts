import './administration/cli/end-on-signals.js';
// This import is dynamic: Node.js would load a static import before it runs end-on-signals.js, and could miss a signal
const { runCodes } = await import('./administration/codes.program.js');
await runCodes(process);
