import { Command } from 'commander';
import { withReading } from '../cli/connection.js';
import { type ProgramIo, print } from '../cli/program.js';
import { assertMigrations } from './migration-files.js';
import { type MigrationState, describeMissing, readState } from './migration-state.js';

export function createStatus(io: ProgramIo): Command {
  return new Command('status')
    .description('lists applied and pending migrations; status 1 if an applied migration has no file')
    .action(async () => {
      // `readState` ignores files whose names have a wrong form. It would list their migrations as missing
      await assertMigrations();
      const state = await withReading(readState, io.env);
      print(io, [...describeState(state), ...describeMissing(state)].join('\n'));
      // Other commands set 2 for what they find. Do not change this 1, because pipelines decide by it
      if (state.missing.length > 0) io.exitCode = 1;
    });
}

function describeState({ applied, pending, missing }: MigrationState): string[] {
  const lines = applied.map((name) => {
    const word = missing.includes(name) ? 'missing' : 'applied';
    return `${word}  ${name}`;
  });
  lines.push(...pending.map((name) => `pending  ${name}`));
  return lines;
}
