// The commands that write, check and rename files.
import { execFile } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { AdministrationError, FLAG, TEXT, command, typed } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { compareList } from '../lists/compare-list.js';
import { migrationText } from '../lists/list-migration.js';
import { readListFile } from '../lists/read-list-file.js';
import {
  MIGRATIONS,
  createMigration,
  migrationNames,
  nameOf,
  noteLast,
  numberOf,
  readLast,
  readMigrations,
  subjectOf,
} from './migration-files.js';

const TEMPLATE = `-- Up Migration

-- for example: insert into code_list_value (code_list, value) values ('orderType', 'Transfer');

-- Down Migration

-- for example: delete from code_list_value where code_list = 'orderType' and value = 'Transfer';
`;

export const create = command({
  usage: 'NAME [--from FILE.csv [--complete]]',
  summary:
    'creates the next migration: an empty one, or one that brings the table to what the file says; with --complete rows that the file lacks are deleted',
  operands: [1, 1],
  options: { from: TEXT, complete: FLAG },
  run: async ({ from, complete = false }, [name = '']) => {
    if (from === undefined) return { text: `created ${await createMigration(name, TEMPLATE)}` };
    const file = await readListFile(from);
    const changes = await withDatabase((client) => compareList(client, from, file, complete));
    if (changes.before.length + changes.after.length === 0)
      return { text: `The database already holds what ${from} says. Nothing was written.` };
    const title = `Written from ${JSON.stringify(basename(from))}${complete ? ', which is complete' : ''}`;
    return { text: `created ${await createMigration(name, migrationText(title, [changes]))}` };
  },
});

const ALTERED =
  'was changed or removed. Restore it, and write a new migration for what is to change.';

export const check = command({
  usage: '[--base REF]',
  summary:
    'checks names, numbers and markers of all files; with --base also that no file of that git revision was changed, and that new numbers come after its last',
  options: { base: TEXT },
  run: async ({ base }) => {
    const names = await readMigrations();
    const { theirs = [], altered = [] } = base === undefined ? {} : await readBase(base);
    const last = theirs.at(-1);
    const faults = altered.map((name) => `${name}.sql of ${base} ${ALTERED}`);
    for (const name of names.filter((one) => last && !theirs.includes(one)))
      if (numberOf(name) <= numberOf(last))
        faults.push(
          `${name}.sql does not come after ${last}.sql of ${base}: ${typed('migrate', `renumber --base ${base}`)}`,
        );
    if ((await readLast()) !== names.at(-1))
      faults.push(`last-migration.txt does not hold the last name: ${names.at(-1)}`);
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
    await noteLast();
    return { text: moves.map((names) => names.join(' → ')).join('\n') || 'Nothing to do.' };
  },
});

/** The migrations of a git revision in their order, and those that were changed or removed since the branch left it. */
async function readBase(base: string): Promise<{ theirs: string[]; altered: string[] }> {
  const git = async (...words: string[]): Promise<string[]> => {
    const [all, cwd] = [[...words, base, '--', '.'], MIGRATIONS];
    const { stdout } = await promisify(execFile)('git', all, { cwd }).catch(
      ({ stderr, message }: Error & { stderr?: string }) => {
        throw new AdministrationError(
          `git cannot tell what "${base}" holds: ${(stderr || message).split('\n')[0]}. --base needs a revision that this clone has, such as origin/main.`,
        );
      },
    );
    return stdout.match(/[^/\n]+(?=\.sql$)/gm) ?? [];
  };
  const altered = ['diff', '--merge-base', '--name-only', '--no-renames', '--diff-filter=MTD'];
  return { theirs: await git('ls-tree', '-r', '--name-only'), altered: await git(...altered) };
}
