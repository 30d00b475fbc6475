import './configuration/supported-node.js';
const { runProgram } = await import('./administration/frame/run-program.js');
const { check, create, renumber } = await import('./administration/migrate/files.commands.js');
const { drift } = await import('./administration/migrate/drift.js');
const { plan } = await import('./administration/migrate/plan/plan.command.js');
const { up, down, status } = await import('./administration/migrate/run.commands.js');

await runProgram(
  'migrate',
  { up, down, status, new: create, plan, drift, check, renumber },
  'The database is the one at DATABASE_URL; new, check and renumber need none.',
);
