// What several branches need that add migrations at the same time: `check --base` and `renumber`.
import { execFile } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { AdministrationError, TEXT, command, typed } from '../frame/command.js';
import {
  MIGRATIONS,
  migrationNames,
  nameOf,
  numberOf,
  readLast,
  readMigrations,
  subjectOf,
  writeLast,
} from './migration-files.js';

export const check = command({
  usage: '[--base REF]',
  summary:
    'checks names, numbers and markers of all files; with --base also that no file of that git revision was changed, and that new numbers come after its last',
  options: { base: TEXT },
  run: async ({ base }) => {
    const names = await readMigrations();
    const faults: string[] = [];
    if ((await readLast()) !== names.at(-1))
      faults.push(
        `last-migration.txt does not hold "${names.at(-1)}", the last name. Write it there.`,
      );
    if (base !== undefined) {
      const { theirs, altered } = await readBase(base);
      const last = theirs.at(-1);
      for (const name of altered)
        faults.push(
          `${name}.sql of ${base} was changed or removed. Restore it, and write a new migration for what is to change.`,
        );
      for (const name of names.filter((one) => !theirs.includes(one)))
        if (last && numberOf(name) <= numberOf(last))
          faults.push(
            `${name}.sql does not come after ${last}.sql, the last one of ${base}: ${typed('migrate', `renumber --base ${base}`)}`,
          );
    }
    if (faults.length > 0) throw new AdministrationError(faults.join('\n'));
    return { text: `${names.length} migrations are in order.` };
  },
});

export const renumber = command({
  usage: '--base REF',
  summary:
    'gives the files that are not in that git revision the next free numbers, in their order',
  options: { base: TEXT },
  run: async ({ base = '' }) => {
    const { theirs } = await readBase(base);
    const last = theirs.at(-1);
    const own = (await migrationNames()).filter((name) => !theirs.includes(name));
    const moves = own
      .map((name, at) => [name, nameOf(numberOf(last) + 1 + at, subjectOf(name))] as const)
      .filter(([name, to]) => name !== to);
    // Where they get higher numbers, the last one first: none overwrites another, since all stay in their order
    const higher = moves.filter(([from, to]) => to > from).reverse();
    for (const [name, to] of [...higher, ...moves.filter((move) => !higher.includes(move))])
      await rename(join(MIGRATIONS, `${name}.sql`), join(MIGRATIONS, `${to}.sql`));
    await writeLast((await migrationNames()).at(-1) ?? '');
    return { text: moves.map((names) => names.join(' → ')).join('\n') || 'Nothing to do.' };
  },
});

/**
 * The migrations of a git revision in their order, and those that were changed or removed since the branch left it.
 * @throws AdministrationError if git does not know the revision, or the folder is not in a repository
 */
async function readBase(base: string): Promise<{ theirs: string[]; altered: string[] }> {
  const git = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)('git', words, { cwd: MIGRATIONS, maxBuffer: 2 ** 26 })).stdout;
  const names = async (...words: string[]): Promise<string[]> =>
    (await git(...words, '--', '.'))
      .split('\0')
      .filter((path) => path.endsWith('.sql'))
      .map((path) => basename(path, '.sql'))
      .sort();
  try {
    const left = (await git('merge-base', base, 'HEAD')).trim();
    return {
      theirs: await names('ls-tree', '-r', '-z', '--name-only', base),
      altered: await names('diff', '--name-only', '-z', '--no-renames', '--diff-filter=MTD', left),
    };
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n')[0];
    throw new AdministrationError(
      `git cannot tell what "${base}" holds: ${said || 'it has no common ancestor with HEAD'}. --base needs a revision that this clone has, such as origin/main.`,
    );
  }
}
