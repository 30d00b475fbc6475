// The files of migrations and what can be checked of them without a database. node-pg-migrate runs them; it takes a misspelt marker for a comment,
// so that a way back would run on the way up. So every line that resembles a marker has to be one.
import { isUtf8 } from 'node:buffer';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AdministrationError, typed } from '../frame/command.js';

/** The folder of migrations, beside dist/ or src/. It does not depend on the current folder. */
export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

const MARKERS = ['-- Up Migration', '-- Down Migration'];
const LIKE_A_MARKER = /^[^\w'(]*(?:u?pu?|d[own]{1,4})[\s_-]*migr/i;
/** Comments, strings, names in quotes and bodies of functions. A plain look: what it misses, the guard of run-migrations.ts stops. */
const OPAQUE =
  /--.*|\/\*[^]*?(?:\*\/|$)|'[^']*'?|"[^"]*"?|\$(\w*)\$[^]*?(?:\$\1\$|$)|\bbegin\s+atomic\b[^]*?(?:\bend\s*;|$)/gi;
/** A migration may use `rollback to` with its own savepoints. */
const TRANSACTION_CONTROL =
  /\b(?<=(?:^|;)\s*)(?:begin|commit|end|rollback|abort|(?:start|prepare)\s+transaction)\b(?!\s+(?:(?:work|transaction)\s+)?to\b)/i;

// A name is four digits and a subject
export const numberOf = (name = '0000'): number => Number(name.slice(0, 4));
export const subjectOf = (name: string): string => name.slice(5);
export const nameOf = (number: number, subject: string): string =>
  `${String(number).padStart(4, '0')}_${subject}`;

/** Names of all migrations, without .sql, in their order; two may have the same number. */
export async function migrationNames(folder = MIGRATIONS): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => !file.startsWith('.')).sort();
  const wrong = files.find((file) => !/^\d{4}_[a-z0-9_]+\.sql$/.test(file));
  if (wrong)
    throw new AdministrationError(`${wrong} is not a name such as 0042_add_order_type.sql.`);
  return files.map((file) => basename(file, '.sql'));
}

/**
 * Names of all migrations, with every check that needs no database.
 * @throws AdministrationError that names file and line
 */
export async function readMigrations(folder = MIGRATIONS): Promise<string[]> {
  const names = await migrationNames(folder);
  const at = names.findIndex((name, index) => names[index + 1]?.slice(0, 4) === name.slice(0, 4));
  if (at >= 0)
    throw new AdministrationError(
      `${names[at]}.sql and ${names[at + 1]}.sql have the same number. Give those that are not on the main branch the next free ones: ${typed('migrate', 'renumber --base main')}`,
    );
  for (const name of names) {
    const fault = faultOf(await readFile(join(folder, `${name}.sql`)));
    if (fault) throw new AdministrationError(`${name}.sql${fault}`);
  }
  return names;
}

function faultOf(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return ' is not in UTF-8. Save it in that encoding.';
  const text = new TextDecoder().decode(bytes); // without a byte order mark
  const lines = text.split('\n');
  const markers = [...lines.keys()].filter((at) => LIKE_A_MARKER.test(lines[at] ?? ''));
  const wrong = markers.findIndex((at, index) => lines[at]?.trimEnd() !== MARKERS[index]);
  if (wrong >= 0 || markers.length === 0)
    return `, line ${(markers[wrong] ?? 0) + 1}: a file has one line "${MARKERS[0]}", and below what it does perhaps one line "${MARKERS[1]}", both written like this.`;
  const bare = text
    .replace(new RegExp(`^(?:${MARKERS.join('|')})`, 'gm'), ';')
    .replace(OPAQUE, (part) => part.replace(/[^\n]+/g, ' '));
  const { 0: words, index } = TRANSACTION_CONTROL.exec(bare) ?? {};
  return words === undefined
    ? undefined
    : `, line ${bare.slice(0, index).split('\n').length}: "${words.toLowerCase()}" begins or ends a transaction, and each migration runs in one already. Take the statement out.`;
}

/** Creates the next migration, and says so. */
export async function createMigration(subject: string, text: string): Promise<string> {
  if (!/^[a-z0-9_]+$/.test(subject))
    throw new AdministrationError(`"${subject}" is not a name such as add_order_type.`);
  const name = nameOf(numberOf((await migrationNames()).at(-1)) + 1, subject);
  const path = join(MIGRATIONS, `${name}.sql`);
  await writeFile(path, text, { flag: 'wx' });
  await noteLast();
  return `created ${path}`;
}

// The name of the last migration is kept in a file of its own. Two branches that both add a migration change the same line, so the conflict
// appears in git at the merge and not in production.
const LAST = join(MIGRATIONS, '..', 'last-migration.txt');

export const noteLast = async (): Promise<void> =>
  writeFile(LAST, `${(await migrationNames()).at(-1)}\n`);
export const readLast = async (): Promise<string> =>
  (await readFile(LAST, 'utf8').catch(() => '')).trim();
