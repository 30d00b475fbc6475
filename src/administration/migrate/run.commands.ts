import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { connectionString } from '../../configuration/database-url.js';
import { AdministrationError, FLAG, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { lastOf, readState } from './applied-migrations.js';
import { driftInOneLine } from './drift.js';
import { MIGRATIONS, readMigrations } from './migration-files.js';
import { describeEffects } from './plan/plan.command.js';
import { planMigrations } from './plan/plan-migrations.js';
import { applyMigrations, undoMigrations } from './run-migrations.js';

/** Written by the demo: it holds the connection string of its database. */
const DEMO = join(MIGRATIONS, '..', '.data', 'demo.env');

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
      const done = applied.map(({ name, appliedAs, isGone }) => {
        const former = name === appliedAs ? '' : ` (as ${appliedAs})`;
        return `${isGone ? 'gone   ' : 'applied'}  ${name}${former}`;
      });
      const lines = [...done, ...pending.map((name) => `pending  ${name}`), ...gone];
      return { text: lines.join('\n'), failed: gone.length > 0 };
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
      throw new AdministrationError(`"${count}" is not a number of migrations to undo.`);
    const plan = await planMigrations('down', lastOf(Number(count)));
    if (plan.migrations.length === 0) return { text: 'Nothing to do.' };
    const url = connectionString(process.env);
    const { host, pathname } = new URL(url);
    process.stdout.write(
      `To undo in the database ${pathname.slice(1)} at ${host}: ${plan.migrations.join(', ')}\n${describeEffects(plan).join('\n')}\n\n`,
    );
    const demo = await readFile(DEMO, 'utf8').catch(() => '');
    if (!yes && !demo.includes(`DATABASE_URL='${url}'`) && (await answer()) !== 'yes')
      throw new AdministrationError('Nothing was undone. Where nobody can be asked, add --yes');
    const undone = await undoMigrations(plan.migrations);
    return { text: undone.map((name) => `undone  ${name}`).join('\n') };
  },
});

async function answer(): Promise<string> {
  if (!process.stdin.isTTY) return '';
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const said = await terminal.question('Undo this? Type "yes": ');
  terminal.close();
  return said.trim().toLowerCase();
}
