import './administration/cli/end-on-signals.js';
// Imported dynamically, so that signals are handled first: Node.js loads all static imports before it runs any
const { runKeys } = await import('./administration/keys.program.js');
await runKeys(process);
