import { Command } from 'commander';
import { withReading } from '../cli/connection.js';
import { print } from '../cli/program.js';
import { assertMigrations } from './migration-files.js';
import { type MigrationState, describeMissing, readState } from './migration-state.js';

export const status = new Command('status')
  .description('lists what is applied and pending; status 1 where an applied file is not here')
  .action(async () => {
    await assertMigrations(); // one with a faulty name would be listed as missing, with advice that is wrong
    const state = await withReading(readState);
    print([...describeState(state), ...describeMissing(state)].join('\n'));
    if (state.missing.length > 0) process.exitCode = 1;
  });

function describeState({ applied, pending, missing }: MigrationState): string[] {
  const lines = applied.map((name) => {
    const word = missing.includes(name) ? 'missing' : 'applied';
    return `${word}  ${name}`;
  });
  lines.push(...pending.map((name) => `pending  ${name}`));
  return lines;
}
