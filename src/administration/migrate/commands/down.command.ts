import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { connectionString } from '../../../configuration/database-url.js';
import { AdministrationError, command } from '../../frame/command.js';
import { connect } from '../../frame/connect.js';
import { MIGRATIONS, readMigrations } from '../migration-files.js';
import { describeEffects } from '../plan/describe-plan.js';
import { planSteps } from '../plan/plan-migrations.js';
import { stepsDown, undoMigrations } from '../run-migrations.js';

/** Written by the demo: it holds the connection string of its database. */
const DEMO = join(MIGRATIONS, '..', '.data', 'demo.env');

export const down = command({
  usage: '[COUNT] [--yes]',
  summary:
    'shows what it undoes, asks, and undoes the last migration, or the last COUNT; where nobody can be asked it wants --yes, except on the database of the demo',
  operands: [0, 1],
  options: { yes: { type: 'boolean' } },
  run: async ({ yes = false }, [count = '1']) => {
    if (!/^[1-9]\d{0,3}$/.test(count))
      throw new AdministrationError(
        `"${count}" is not a number of migrations to undo: 1 or more is needed.`,
      );
    const files = await readMigrations(MIGRATIONS);
    const plan = await planSteps(MIGRATIONS, files, stepsDown(Number(count)));
    if (plan.migrations.length === 0) return { text: 'Nothing to do.' };
    const { host, pathname } = new URL(connectionString(process.env));
    process.stdout.write(
      `To undo in the database ${pathname.slice(1)} at ${host}: ${plan.migrations.join(', ')}\n${describeEffects(plan).join('\n')}\n\n`,
    );
    if (!yes && !(await isDemo())) await ask();
    const undone = await undoMigrations(MIGRATIONS, connect, plan.migrations);
    return { text: undone.map((name) => `undone  ${name}`).join('\n') };
  },
});

async function isDemo(): Promise<boolean> {
  const demo = await readFile(DEMO, 'utf8').catch(() => '');
  return demo.includes(`DATABASE_URL='${connectionString(process.env)}'`);
}

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
