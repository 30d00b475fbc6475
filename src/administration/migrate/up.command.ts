import { Command } from 'commander';
import { type ProgramIo, print } from '../cli/program.js';
import { applyPending } from './run-migrations.js';

/**
 * `up` does not ask, and does not show what callers would lose: people see this by `plan`. If a migration fails, the
 * earlier ones stay applied. So each migration is printed as soon as it is committed.
 */
export function createUp(io: ProgramIo): Command {
  return new Command('up').description('applies the migrations that are pending').action(async () => {
    const names = await applyPending(io.env, (name) => print(io, `applied  ${name}`));
    if (names.length === 0) print(io, 'Nothing to do.');
  });
}
