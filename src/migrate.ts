import './administration/cli/end-on-signals.js';
// Imported dynamically, so that signals are handled first: Node.js loads all static imports before it runs any
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
  notes: 'The database is the one at DATABASE_URL. The commands check, and new without --from, need no database.',
});
await runProgram(program);
