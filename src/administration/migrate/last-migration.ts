// The name of the last migration stands in a file of its own, so that two branches that both add one change the same line, and git shows the
// conflict when they are merged, not production.
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

const FILE = 'last-migration.txt';
const pathBeside = (folder: string): string => join(folder, '..', FILE);

export const writeLast = (folder: string, name: string): Promise<void> =>
  writeFile(pathBeside(folder), `${name}\n`);

/** What is wrong with the file, with its remedy; undefined where it names the last migration. */
export async function faultOfLast(
  folder: string,
  last: string | undefined,
): Promise<string | undefined> {
  const said = await readFile(pathBeside(folder), 'utf8').catch(() => '');
  return said === `${last}\n` || (said === '' && last === undefined)
    ? undefined
    : `${FILE} beside ${basename(folder)}/ does not hold "${last}", the name of the last migration, and nothing else. Write it there.`;
}
