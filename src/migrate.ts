import { runProgram } from './administration/frame/run-program.js';
import { check } from './administration/migrate/commands/check.command.js';
import { down } from './administration/migrate/commands/down.command.js';
import { drift } from './administration/migrate/commands/drift.command.js';
import { create } from './administration/migrate/commands/new.command.js';
import { plan } from './administration/migrate/commands/plan.command.js';
import { renumber } from './administration/migrate/commands/renumber.command.js';
import { status } from './administration/migrate/commands/status.command.js';
import { up } from './administration/migrate/commands/up.command.js';

await runProgram({
  name: 'migrate',
  commands: { up, down, status, new: create, plan, drift, check, renumber },
  notes: 'The database is the one at DATABASE_URL; new, check and renumber need none.',
});
