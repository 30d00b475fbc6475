import './administration/frame/end-on-signals.js';
const { runProgram } = await import('./administration/frame/run-program.js');
const { check } = await import('./administration/migrate/check.command.js');
const { down } = await import('./administration/migrate/down.command.js');
const { drift } = await import('./administration/migrate/drift/drift.command.js');
const { create } = await import('./administration/migrate/new.command.js');
const { plan } = await import('./administration/migrate/plan/plan.command.js');
const { status } = await import('./administration/migrate/status.command.js');
const { up } = await import('./administration/migrate/up.command.js');

await runProgram({
  name: 'migrate',
  commands: { up, down, status, new: create, plan, drift, check },
  notes: 'The database is the one at DATABASE_URL; check, and new without --from, need none.',
});
