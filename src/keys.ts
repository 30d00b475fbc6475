import './administration/cli/end-on-signals.js';
// This import is dynamic, because Node.js loads all static imports before it runs the file that handles signals
const { runKeys } = await import('./administration/keys.program.js');
await runKeys(process);
