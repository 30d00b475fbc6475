import { Command } from 'commander';
import { type ProgramIo, formatCommandLine, print } from '../cli/program.js';
import { assertMigrations, readNames } from './migration-files.js';

export function createCheck(io: ProgramIo): Command {
  return new Command('check')
    .description(
      'checks the names and the lines "-- Up Migration" and "-- Down Migration" of all migrations, without a database',
    )
    .action(async () => {
      await assertMigrations();
      const { names } = await readNames();
      const next = `To try the SQL: ${formatCommandLine('migrate', 'plan')}`;
      print(io, `Names and markers of ${names.length} migrations are in order. ${next}`);
    });
}
