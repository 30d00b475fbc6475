import './administration/cli/end-on-signals.js';
const { createProgram, runProgram } = await import('./administration/cli/program.js');
const { exportList } = await import('./administration/codes/export.command.js');
const { show } = await import('./administration/codes/show.command.js');

const program = createProgram({
  name: 'codes',
  commands: [show, exportList],
  notes: 'The database is the one at DATABASE_URL. Nothing is changed.',
});
await runProgram(program);
