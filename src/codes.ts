import './administration/frame/end-on-signals.js';
const { runProgram } = await import('./administration/frame/run-program.js');
const { exportCommand } = await import('./administration/codes/export.command.js');
const { show } = await import('./administration/codes/show.command.js');

await runProgram({
  name: 'codes',
  commands: { show, export: exportCommand },
  notes: 'The database is the one at DATABASE_URL. Nothing is changed.',
});
