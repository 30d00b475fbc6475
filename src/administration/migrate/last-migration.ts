// The name of the last migration is kept in a separate file. Two branches that both add a migration change the same line, so the conflict
// appears in git at the merge and not in production.
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

const FILE = 'last-migration.txt';
const pathBeside = (folder: string): string => join(folder, '..', FILE);

export const writeLast = (folder: string, name: string): Promise<void> =>
  writeFile(pathBeside(folder), `${name}\n`);

/** What is wrong with the file, and how to correct it; undefined if it names the last migration. */
export async function faultOfLast(
  folder: string,
  last: string | undefined,
): Promise<string | undefined> {
  const said = await readFile(pathBeside(folder), 'utf8').catch(() => '');
  return said === `${last}\n` || (said === '' && last === undefined)
    ? undefined
    : `${FILE} beside ${basename(folder)}/ does not hold "${last ?? ''}", the name of the last migration, and nothing else. Write it there.`;
}
