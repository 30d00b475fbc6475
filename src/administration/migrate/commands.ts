import { spawnSync } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { basename } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Client } from 'pg';
import { readCodes } from '../../lookups/read-codes.js';
import { connectionString } from '../../configuration/database-url.js';
import { messageOf } from '../../telemetry/error-message.js';
import { FLAG, TEXT, command, refuse, typed } from '../frame/command.js';
import { type Work, isOfDemo, withDatabase } from '../frame/connect.js';
import { changesFrom } from '../lists/list-file.js';
import { migrationText } from '../lists/migration-text.js';
import { countAllDrift } from './drift/drift.js';
import * as files from './migration-files.js';
import { describeEffects, planMigrations } from './plan/plan.js';
import { runMigrations } from './run-migrations.js';

export const up = command({
  summary: 'applies the migrations that are pending',
  run: async () => {
    const names = await runMigrations('up');
    const { newer } = await withDatabase(files.readState);
    const lines = names.map((name) => `applied  ${name}`);
    if (newer.length > 0) lines.push(`Applied by a newer release: ${newer.join(', ')}.`);
    else if (names.length === 0) lines.push('Nothing to do.');
    const attempt = <T>(fault: string, work: Work<T>) =>
      withDatabase(work).catch((error) => void lines.push(`${fault}: ${messageOf(error)}.`));
    await attempt('The codes in the database cannot be served', (_, manager) => readCodes(manager));
    const drift = await attempt('Drift could not be looked for', countAllDrift);
    const what = `a change by hand, or an object that is not what the migrations made. See: ${typed('migrate', 'drift')}`;
    if (drift) lines.push(`There is drift (${drift}): ${what}`);
    return { text: lines.join('\n') };
  },
});

export const status = command({
  summary: 'lists what is applied and pending; status 1 where an applied file is gone',
  run: () =>
    withDatabase(async (client) => {
      const state = await files.readState(client);
      const lines = state.applied.map(({ name, state: word }) => `${word.padEnd(7)}  ${name}`);
      lines.push(...state.pending.map((name) => `pending  ${name}`), ...state.gone);
      return { text: lines.join('\n'), status: state.gone.length > 0 ? 1 : 0 };
    }),
});

export const down = command({
  usage: '[COUNT] [--yes]',
  operands: [0, 1],
  summary:
    'shows what it undoes, asks, and undoes the last migration, or the last COUNT; where nobody can be asked it wants --yes; on the database of the demo only where callers would be refused',
  options: { yes: FLAG },
  run: async ({ yes = false }, [count = '1']) => {
    if (!/^[1-9]\d{0,3}$/.test(count)) refuse(`"${count}" is not a number of migrations to undo.`);
    const plan = await planMigrations('down', (state) => files.lastOf(state, Number(count)));
    if (plan.migrations.length === 0) return { text: 'Nothing to do.' };
    const url = connectionString(process.env);
    const { database, host, port } = new Client(url);
    const title = `To undo in the database ${database} at ${host}:${port}: ${plan.migrations.join(', ')}`;
    process.stdout.write(`${[title, ...describeEffects(plan)].join('\n')}\n\n`);
    const isHarmless = plan.refusals.length === 0 && (await isOfDemo(url));
    if (!yes && !isHarmless && !(await isAgreed()))
      refuse('Nothing was undone. Where nobody can be asked, add --yes');
    const undone = await runMigrations('down', process.env, plan.migrations);
    return { text: undone.map((name) => `undone  ${name}`).join('\n') };
  },
});

async function isAgreed(): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Undo this? (yes or no) ').finally(() => terminal.close());
  return ['y', 'yes'].includes(answer.trim().toLowerCase());
}

export const create = command({
  usage: 'NAME [--from FILE.csv [--complete]]',
  operands: [1, 1],
  summary:
    'creates the next migration: an empty one, or one that brings the table to what the file says; with --complete rows that the file lacks are deleted',
  options: { from: TEXT, complete: FLAG },
  run: async ({ from, complete = false }, [name = '']) => {
    if (complete && from === undefined) refuse('--complete needs --from FILE.csv.');
    if (from === undefined) return files.createMigration(name);
    const changes = await withDatabase((client) => changesFrom(client, from, complete));
    const title = `Written from ${JSON.stringify(basename(from))}`;
    const text = migrationText({ title, changes: [changes] });
    if (text) return files.createMigration(name, text);
    return { text: `The database already holds what ${from} says. Nothing was written.` };
  },
});

export const check = command({
  usage: '[--base REF]',
  summary:
    'checks names, numbers and markers of all files; with --base also that no file of that git revision was changed, and that new numbers come after its last',
  options: { base: TEXT },
  run: async ({ base }) => {
    const names = await files.readMigrations();
    const faults: string[] = [];
    if (base !== undefined) {
      const theirs = filesOf(base);
      const last = theirs.at(-1);
      const since = ['diff', '--merge-base', '--name-only', '--no-renames', '--diff-filter=MTD'];
      const altered = 'was changed or removed. Restore it, and write a new migration for that.';
      for (const name of filesOf(base, since)) faults.push(`${name}.sql of ${base} ${altered}`);
      const remedy = typed('migrate', `renumber --base ${base}`);
      for (const name of names)
        if (!theirs.includes(name) && files.numberOf(name) <= files.numberOf(last))
          faults.push(`${name}.sql does not come after ${last}.sql of ${base}: ${remedy}`);
    }
    if (faults.length > 0) refuse(faults.join('\n'));
    return { text: `${names.length} migrations are in order.` };
  },
});

export const renumber = command({
  usage: '--base REF',
  summary: 'gives the files that are not in that git revision the next free numbers',
  options: { base: TEXT },
  run: async ({ base = '' }) => {
    const theirs = filesOf(base);
    const next = files.numberOf(theirs.at(-1)) + 1;
    const moves = (await files.migrationNames())
      .filter((name) => !theirs.includes(name))
      .map((name, at) => [name, files.nameOf(next + at, files.subjectOf(name))] as const)
      .filter(([name, to]) => name !== to);
    // In two steps, so that none overwrites another
    for (const [name, to] of moves) await rename(files.pathOf(name), files.pathOf(`.${to}`));
    for (const [, to] of moves) await rename(files.pathOf(`.${to}`), files.pathOf(to));
    return { text: moves.map((names) => names.join(' → ')).join('\n') || 'Nothing to do.' };
  },
});

function filesOf(base: string, words = ['ls-tree', '-r', '--name-only']): string[] {
  const options = { cwd: files.MIGRATIONS, encoding: 'utf8' } as const;
  const git = spawnSync('git', [...words, base, '--', '.'], options);
  if (git.status !== 0)
    refuse(
      `git cannot tell what "${base}" holds: ${git.error?.message ?? git.stderr.split('\n')[0]}. --base needs a revision that this clone has, such as origin/main.`,
    );
  return git.stdout.match(/[^/\n]+(?=\.sql$)/gm) ?? [];
}
