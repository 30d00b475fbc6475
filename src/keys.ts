import './administration/cli/end-on-signals.js';
const { createProgram, runProgram } = await import('./administration/cli/program.js');
const { issue } = await import('./administration/keys/issue.command.js');
const { list } = await import('./administration/keys/list.command.js');
const { revoke } = await import('./administration/keys/revoke.command.js');
const { rotate } = await import('./administration/keys/rotate.command.js');

const program = createProgram({
  name: 'keys',
  commands: [issue, list, rotate, revoke],
  notes: `A key is shown once, when it is issued.
The database is the one at DATABASE_URL.`,
});
await runProgram(program);
