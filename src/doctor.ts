import './administration/cli/end-on-signals.js';
// This import is dynamic, because Node.js loads all static imports before it runs the file that handles signals
const { runDoctor } = await import('./administration/doctor.program.js');
await runDoctor(process);
