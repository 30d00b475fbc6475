// The files of migrations and what can be checked of them without a database. node-pg-migrate runs them; it takes a misspelt marker for a comment,
// so that a way back would run on the way up. So every line that resembles a marker has to be one.
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AdministrationError, typed } from '../frame/command.js';

/** The folder of migrations, beside dist/ or src/. It does not depend on the current folder. */
export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

const [UP, DOWN] = ['-- Up Migration', '-- Down Migration'];
const LIKE_A_MARKER = /^[^\w'(]*(?:u?pu?|d[own]{1,4})[\s_-]*migr/i;
/** Comments, strings, names in quotes and bodies of functions. A plain look: what it misses, the guard of run-file.ts stops. */
const OPAQUE =
  /--.*|\/\*[^]*?(?:\*\/|$)|'[^']*'?|"[^"]*"?|\$(\w*)\$[^]*?(?:\$\1\$|$)|\bbegin\s+atomic\b[^]*?(?:\bend\s*;|$)/gi;
/** A migration may use `rollback to` with its own savepoints. */
const TRANSACTION_CONTROL =
  /(?:^|;)\s*\b((?:begin|commit|end|rollback|abort|(?:start|prepare)\s+transaction)\b(?!\s+(?:(?:work|transaction)\s+)?to\b)[^;]*)/i;

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
  const fault = (line: number, said: string): AdministrationError =>
    new AdministrationError(`${file}, line ${line + 1}: ${said}`);
  const [up, down] = markersOf(text.split('\n'), fault);
  if (up < 0)
    throw new AdministrationError(
      `${file} has no line "${UP}". Put it above what the migration does.`,
    );
  const bare = text.replace(OPAQUE, (found) => found.replace(/[^\n]+/g, ' ')).split('\n');
  const above = bare.slice(0, up).findIndex((line) => /[^\s;]/.test(line));
  if (above >= 0)
    throw fault(above, `only comments can stand above "${UP}". Move this line below it.`);
  const [upward, downward] = [bare.slice(up, down), bare.slice(down)].map((lines) =>
    lines.join('\n'),
  ) as [string, string];
  for (const [first, sql] of [
    [up, upward],
    [down, downward],
  ] as const) {
    const found = TRANSACTION_CONTROL.exec(sql);
    if (!found) continue;
    const [all, words = ''] = found;
    const before = sql.slice(0, found.index + all.length - words.length);
    throw fault(
      first + before.split('\n').length - 1,
      `"${words.trim().slice(0, 40).toLowerCase()}" begins or ends a transaction, and each migration runs in one already. Take the statement out.`,
    );
  }
  if (!/[^\s;]/.test(upward))
    throw new AdministrationError(
      `${file} has no statement below "${UP}". Write what it is to do, or remove the file.`,
    );
  return { name, hasWayBack: /[^\s;]/.test(downward) };
}

/** The lines of the two markers, from 0: -1 without the first one, the end of the file without the second. */
function markersOf(
  lines: readonly string[],
  fault: (line: number, said: string) => AdministrationError,
): [up: number, down: number] {
  const found = new Map<string, number>();
  for (const [at, line] of lines.entries()) {
    if (!LIKE_A_MARKER.test(line)) continue;
    const marker = line.trimEnd();
    if (marker !== UP && marker !== DOWN)
      throw fault(
        at,
        `"${line.trim().slice(0, 100)}" looks like a marker, but is none. A marker is a line of its own: "${UP}" or "${DOWN}".`,
      );
    if (found.has(marker)) throw fault(at, `"${marker}" stands there twice. Take one of them out.`);
    if (marker === UP && found.has(DOWN))
      throw fault(at, `"${DOWN}" stands before "${UP}". Swap them.`);
    found.set(marker, at);
  }
  return [found.get(UP) ?? -1, found.get(DOWN) ?? lines.length];
}

function decoded(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes); // without a byte order mark
  } catch {
    throw new AdministrationError(`${file} is not in UTF-8. Save it in that encoding.`);
  }
}
