import { Command } from 'commander';
import { print } from '../cli/program.js';
import { applyPending } from './run-migrations.js';

/**
 * It asks nobody, and callers see each migration within a second: `plan` says before what they would lose. Where one
 * fails, those before it stay applied although no line names them: `status` does.
 */
export const up = new Command('up').description('applies the migrations that are pending').action(async () => {
  const names = await applyPending();
  if (names.length === 0) print('Nothing to do.');
  for (const name of names) print(`applied  ${name}`);
});
