import { writeFile } from 'node:fs/promises';
import { CliError, print } from '../cli/program.js';
import { EMPTY_FILE } from './migration-file.js';
import { isSubject, nextName, pathOf, readNames } from './migration-names.js';

/** Writes a new file that comes after all others. */
export async function createMigration(subject: string, text = EMPTY_FILE): Promise<void> {
  if (!isSubject(subject)) throw new CliError(`"${subject}" is not a name such as add_order_type.`);
  const { names } = await readNames();
  const path = pathOf(nextName(subject, names));
  await writeFile(path, text, { flag: 'wx' });
  print(`created ${path}`);
}
