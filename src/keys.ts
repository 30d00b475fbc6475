import './administration/cli/end-on-signals.js';
// Imported dynamically, so that signals are handled first: Node.js loads all static imports before it runs any
const { createProgram, runProgram } = await import('./administration/cli/program.js');
const { issue, list, revoke, rotate } = await import('./administration/keys.js');

const program = createProgram({
  name: 'keys',
  commands: [issue, list, rotate, revoke],
  notes: `A key is shown once, when it is issued.
The database is the one at DATABASE_URL.`,
});
await runProgram(program);
