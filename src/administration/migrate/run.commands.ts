import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { connectionString } from '../../configuration/database-url.js';
import { AdministrationError, FLAG, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { readState, stepsDown } from './applied-migrations.js';
import { driftInOneLine } from './drift.js';
import { MIGRATIONS, readMigrations } from './migration-files.js';
import { describeEffects } from './plan/plan.command.js';
import { planSteps } from './plan/plan-steps.js';
import { applyMigrations, undoMigrations } from './run-migrations.js';

export const up = command({
  summary: 'applies the migrations that are pending',
  run: async () => {
    const names = await applyMigrations();
    const drift = await withDatabase(driftInOneLine);
    const lines = names.length > 0 ? names.map((name) => `applied  ${name}`) : ['Nothing to do.'];
    return { text: [...lines, ...drift].join('\n') };
  },
});

export const status = command({
  summary:
    'lists the migrations and whether they were applied; status 1 where an applied file is gone',
  run: () =>
    withDatabase(async (client) => {
      const { applied, pending, gone } = await readState(client, await readMigrations());
      const lines = [
        ...applied.map(
          ({ name, appliedAs, isGone }) =>
            `${isGone ? 'gone   ' : 'applied'}  ${name}${name === appliedAs ? '' : ` (as ${appliedAs})`}`,
        ),
        ...pending.map((name) => `pending  ${name}`),
      ];
      return { text: [...lines, ...gone].join('\n'), failed: gone.length > 0 };
    }),
});

export const down = command({
  usage: '[COUNT] [--yes]',
  summary:
    'shows what it undoes, asks, and undoes the last migration, or the last COUNT; where nobody can be asked it wants --yes, except on the database of the demo',
  operands: [0, 1],
  options: { yes: FLAG },
  run: async ({ yes = false }, [count = '1']) => {
    if (!/^[1-9]\d{0,3}$/.test(count))
      throw new AdministrationError(
        `"${count}" is not a number of migrations to undo: 1 or more is needed.`,
      );
    const plan = await planSteps(stepsDown(Number(count)));
    if (plan.migrations.length === 0) return { text: 'Nothing to do.' };
    const url = connectionString(process.env);
    const { host, pathname } = new URL(url);
    process.stdout.write(
      `To undo in the database ${pathname.slice(1)} at ${host}: ${plan.migrations.join(', ')}\n${describeEffects(plan).join('\n')}\n\n`,
    );
    // The demo writes the connection string of its database there
    const demo = await readFile(join(MIGRATIONS, '..', '.data', 'demo.env'), 'utf8').catch(
      () => '',
    );
    if (!yes && !demo.includes(`DATABASE_URL='${url}'`)) await ask();
    const undone = await undoMigrations(plan.migrations);
    return { text: undone.map((name) => `undone  ${name}`).join('\n') };
  },
});

/** @throws AdministrationError unless a person agrees */
async function ask(): Promise<void> {
  if (!process.stdin.isTTY)
    throw new AdministrationError(
      'Nothing was undone, since nobody can be asked here. To undo it, add --yes',
    );
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Undo this? Type "yes": ');
  terminal.close();
  if (answer.trim().toLowerCase() !== 'yes') throw new AdministrationError('Nothing was undone.');
}
