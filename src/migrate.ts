import './administration/cli/end-on-signals.js';
// Loaded after the signals: Node.js loads all static imports before it runs the first one
const { createProgram, runProgram } = await import('./administration/cli/program.js');
const { check } = await import('./administration/migrate/check.command.js');
const { down } = await import('./administration/migrate/down.command.js');
const { drift } = await import('./administration/migrate/drift.command.js');
const { create } = await import('./administration/migrate/new.command.js');
const { plan } = await import('./administration/migrate/plan.command.js');
const { status } = await import('./administration/migrate/status.command.js');
const { up } = await import('./administration/migrate/up.command.js');

const program = createProgram({
  name: 'migrate',
  commands: [up, down, status, create, plan, drift, check],
  notes: 'The database is the one at DATABASE_URL; check, and new without --from, need none.',
});
await runProgram(program);
