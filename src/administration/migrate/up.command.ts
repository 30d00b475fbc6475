import { Command } from 'commander';
import { print } from '../cli/program.js';
import { applyPending } from './run-migrations.js';

/**
 * It asks nobody, and callers see each migration within a second: `plan` says before what they would lose. Where one
 * fails, those before it stay applied, so each has its line as soon as it is.
 */
export const up = new Command('up').description('applies the migrations that are pending').action(async () => {
  const names = await applyPending(process.env, (name) => print(`applied  ${name}`));
  if (names.length === 0) print('Nothing to do.');
});
