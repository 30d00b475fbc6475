import './configuration/supported-node.js';
const { runProgram } = await import('./administration/frame/command.js');
const { issue } = await import('./administration/keys/issue.js');
const { list } = await import('./administration/keys/list.js');
const { revoke } = await import('./administration/keys/revoke.js');
const { rotate } = await import('./administration/keys/rotate.js');

await runProgram(
  'keys',
  { issue, list, rotate, revoke },
  `A key is shown once, when it is issued.
The database is the one at DATABASE_URL.`,
);
