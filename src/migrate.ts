import './configuration/supported-node.js';
const { runProgram } = await import('./administration/frame/run-program.js');
const { check } = await import('./administration/migrate/commands/check.command.js');
const { down } = await import('./administration/migrate/commands/down.command.js');
const { drift } = await import('./administration/migrate/commands/drift.command.js');
const { create } = await import('./administration/migrate/commands/new.command.js');
const { plan } = await import('./administration/migrate/commands/plan.command.js');
const { renumber } = await import('./administration/migrate/commands/renumber.command.js');
const { status } = await import('./administration/migrate/commands/status.command.js');
const { up } = await import('./administration/migrate/commands/up.command.js');

await runProgram(
  'migrate',
  { up, down, status, new: create, plan, drift, check, renumber },
  'The database is the one at DATABASE_URL; new, check and renumber need none.',
);
