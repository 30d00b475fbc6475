// The files of migrations and what can be checked of them without a database. node-pg-migrate runs them; it takes a misspelt marker for a comment,
// so that a way back would run on the way up. So every line that resembles a marker has to be one.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import leven from 'leven';
import { AdministrationError, typed } from '../frame/command.js';
import { type Statement, isTransactionControl, lineAt, statementsOf } from './sql-statements.js';

/** The folder of migrations, beside dist/ or src/. It does not depend on the current folder. */
export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

const [UP, DOWN] = ['-- Up Migration', '-- Down Migration'];
/** Largest edit distance at which a comment still counts as a misspelt marker. */
const TYPING_ERRORS = 2;

export interface MigrationFile {
  /** Without .sql. */
  readonly name: string;
  /** Whether it has statements that undo it. */
  readonly hasWayBack: boolean;
}

/** The four digits before a name. */
export const numberOf = (name: string): number => Number(name.slice(0, 4));

/** The name without its number. */
export const subjectOf = (name: string): string => name.slice(5);

export const nameOf = (number: number, subject: string): string =>
  `${String(number).padStart(4, '0')}_${subject}`;

/** Names of all migrations, without .sql, in their order; two may have the same number. */
export async function migrationNames(folder: string): Promise<string[]> {
  const all = await readdir(folder).catch((error: Error) => {
    throw new AdministrationError(`The folder of the migrations cannot be read: ${error.message}.`);
  });
  const files = all.filter((file) => !file.startsWith('.')).sort();
  const wrong = files.find((file) => !/^\d{4}_[a-z0-9_]+\.sql$/.test(file));
  if (wrong)
    throw new AdministrationError(
      `${wrong} is not the name of a migration: NNNN_verb_object.sql is needed, such as 0042_add_order_type.sql.`,
    );
  return files.map((file) => basename(file, '.sql'));
}

/**
 * All migrations in their order, with every check that needs no database.
 * @throws AdministrationError that names file and line
 */
export async function readMigrations(folder: string): Promise<MigrationFile[]> {
  const names = await migrationNames(folder);
  const at = names.findIndex((name, index) => names[index + 1]?.slice(0, 4) === name.slice(0, 4));
  if (at >= 0)
    throw new AdministrationError(
      `${names[at]}.sql and ${names[at + 1]}.sql have the same number. Give those that are not on the main branch the next free ones: ${typed('migrate', 'renumber --base main')}`,
    );
  return Promise.all(
    names.map(async (name) => checked(name, await readFile(join(folder, `${name}.sql`)))),
  );
}

/** Creates the next migration and gives its path. */
export async function createMigration(subject: string, text: string): Promise<string> {
  if (!/^[a-z0-9_]+$/.test(subject))
    throw new AdministrationError(
      `"${subject}" cannot be part of a file name: lower-case letters, digits and underscores are needed, such as add_order_type.`,
    );
  const last = (await migrationNames(MIGRATIONS)).at(-1);
  const name = nameOf(last ? numberOf(last) + 1 : 1, subject);
  const path = join(MIGRATIONS, `${name}.sql`);
  await writeFile(path, text, { flag: 'wx' });
  await writeLast(name);
  return path;
}

// The name of the last migration is kept in a file of its own. Two branches that both add a migration change the same line, so the conflict
// appears in git at the merge and not in production.
const LAST = join(MIGRATIONS, '..', 'last-migration.txt');

export const writeLast = (name: string): Promise<void> => writeFile(LAST, `${name}\n`);

/** What is wrong with that file, and how to correct it; undefined if it names the last migration. */
export async function faultOfLast(last = ''): Promise<string | undefined> {
  const said = (await readFile(LAST, 'utf8').catch(() => '')).trim();
  return said === last
    ? undefined
    : `${basename(LAST)} beside ${basename(MIGRATIONS)}/ does not hold "${last}", the name of the last migration, and nothing else. Write it there.`;
}

function checked(name: string, bytes: Uint8Array): MigrationFile {
  const file = `${name}.sql`;
  const text = decoded(file, bytes);
  const [up, down] = markersOf(file, text);
  const fault = (index: number, said: string): AdministrationError =>
    new AdministrationError(`${file}, line ${lineAt(text, index)}: ${said}`);
  const [above, upward, downward] = [
    [0, up],
    [up, down],
    [down, text.length],
  ].map(([from = 0, to]) =>
    statementsOf(text.slice(from, to)).map(({ start, head }) => ({ start: from + start, head })),
  ) as [Statement[], Statement[], Statement[]];
  if (above[0])
    throw fault(above[0].start, `only comments can stand above "${UP}". Move this line below it.`);
  const control = [...upward, ...downward].find(isTransactionControl);
  if (control)
    throw fault(
      control.start,
      `"${control.head}" begins or ends a transaction, and each migration runs in one already. Take the statement out.`,
    );
  if (upward.length === 0)
    throw new AdministrationError(
      `${file} has no statement below "${UP}". Write what it is to do, or remove the file.`,
    );
  return { name, hasWayBack: downward.length > 0 };
}

/** The indices of the two markers; that of the second is the end of the text if it is missing. */
function markersOf(file: string, text: string): [up: number, down: number] {
  const found = new Map<string, number>();
  for (const { 0: line, index } of text.matchAll(/^[ \t]*(?:--|#|\/[*/]|up\b|down\b).*$/gim)) {
    if (!looksLikeMarker(line)) continue;
    const marker = line.trimEnd();
    const place = `${file}, line ${lineAt(text, index)}:`;
    if (marker !== UP && marker !== DOWN)
      throw new AdministrationError(
        `${place} "${line.trim()}" looks like a marker, but is none. A marker is a line of its own: "${UP}" or "${DOWN}".`,
      );
    if (found.has(marker))
      throw new AdministrationError(
        `${place} "${marker}" stands there twice. Take one of them out.`,
      );
    if (marker === UP && found.has(DOWN))
      throw new AdministrationError(`${place} "${DOWN}" stands before "${UP}". Swap them.`);
    found.set(marker, index);
  }
  const up = found.get(UP);
  if (up === undefined)
    throw new AdministrationError(
      `${file} has no line "${UP}". Put it above what the migration does.`,
    );
  return [up, found.get(DOWN) ?? text.length];
}

function looksLikeMarker(line: string): boolean {
  const words = line
    .slice(0, 100)
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, ' ')
    .trim();
  return (
    /^(up|down) migrations?$/.test(words) ||
    /^\s*--[\s-]*(up|down)\s+migration/i.test(line) || // node-pg-migrate takes it for one
    (/^\s*(--|#|\/)/.test(line) &&
      ['up migration', 'down migration'].some((marker) => leven(words, marker) <= TYPING_ERRORS))
  );
}

function decoded(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes); // without a byte order mark
  } catch {
    throw new AdministrationError(`${file} is not in UTF-8. Save it in that encoding.`);
  }
}
