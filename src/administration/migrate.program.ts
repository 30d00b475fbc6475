import { type ProgramIo, createProgram, runProgram } from './cli/program.js';
import { createCheck } from './migrate/check.command.js';
import { createDown } from './migrate/down.command.js';
import { createDrift } from './migrate/drift.command.js';
import { createNew } from './migrate/new.command.js';
import { createPlan } from './migrate/plan.command.js';
import { createStatus } from './migrate/status.command.js';
import { createUp } from './migrate/up.command.js';

const NOTES =
  'The command `check` needs no database. The command `new` needs it only with --from.\n' +
  'The other commands use the database at DATABASE_URL.';

export function runMigrate(io: ProgramIo): Promise<void> {
  const creators = [createUp, createDown, createStatus, createNew, createPlan, createDrift, createCheck];
  const commands = creators.map((create) => create(io));
  return runProgram(createProgram({ name: 'migrate', commands, notes: NOTES }, io), io);
}
