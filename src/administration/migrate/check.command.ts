import { Command } from 'commander';
import { commandLine, print } from '../cli/program.js';
import { assertMigrations, readNames } from './migration-files.js';

export const check = new Command('check')
  .description('checks names and markers of all migrations, without a database')
  .action(async () => {
    await assertMigrations();
    const { names } = await readNames();
    print(
      `Names and markers of ${names.length} migrations are in order. To try the SQL: ${commandLine('migrate', 'plan')}`,
    );
  });
