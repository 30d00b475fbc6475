import './administration/cli/end-on-signals.js';
// Imported dynamically, so that signals are handled first: Node.js loads all static imports before it runs any
const { createProgram, runProgram } = await import('./administration/cli/program.js');
const { exportList, show } = await import('./administration/codes.js');

const program = createProgram({
  name: 'codes',
  commands: [show, exportList],
  notes: 'The database is the one at DATABASE_URL. Nothing is changed.',
});
await runProgram(program);
