import './configuration/supported-node.js';
const { runProgram } = await import('./administration/frame/command.js');
const { drift } = await import('./administration/migrate/drift/drift.js');
const { plan } = await import('./administration/migrate/plan/plan.js');
const { check, create, down, renumber, status, up } =
  await import('./administration/migrate/commands.js');

await runProgram(
  'migrate',
  { up, down, status, new: create, plan, drift, check, renumber },
  'The database is the one at DATABASE_URL; check, renumber and new without --from need none.',
);
