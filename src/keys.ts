import './administration/cli/end-on-signals.js';
// Node.js loads all static imports before it runs a file. With a static import, signals would be handled too late
const { runKeys } = await import('./administration/keys.program.js');
await runKeys(process);
