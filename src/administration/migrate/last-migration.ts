// The name of the last migration is kept in a separate file. Two branches that both add a migration change the same line, so the conflict
// appears in git at the merge and not in production.
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MIGRATIONS } from './read-migrations.js';

const FILE = join(MIGRATIONS, '..', 'last-migration.txt');

export const writeLast = (name: string): Promise<void> => writeFile(FILE, `${name}\n`);

/** What is wrong with the file, and how to correct it; undefined if it names the last migration. */
export async function faultOfLast(last: string | undefined): Promise<string | undefined> {
  const said = await readFile(FILE, 'utf8').catch(() => '');
  return said === `${last}\n` || (said === '' && last === undefined)
    ? undefined
    : `${basename(FILE)} beside ${basename(MIGRATIONS)}/ does not hold "${last ?? ''}", the name of the last migration, and nothing else. Write it there.`;
}
