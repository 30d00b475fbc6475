import './configuration/supported-node.js';
const { runProgram } = await import('./administration/frame/command.js');
const { exportCommand } = await import('./administration/codes/export.js');
const { show } = await import('./administration/codes/show.js');

await runProgram(
  'codes',
  { show, export: exportCommand },
  'The database is the one at DATABASE_URL. Nothing is changed.',
);
