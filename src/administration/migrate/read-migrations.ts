import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AdministrationError } from '../frame/command.js';
import { splitByMarkers } from './markers.js';
import { type Statement, isTransactionControl, statementsOf } from './sql-statements.js';

/** The folder of migrations, beside dist/ or src/. It does not depend on the current folder. */
export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

/** A migration file whose name and markers are correct. */
export interface Migration {
  /** Without .sql. */
  readonly name: string;
  /** SHA-256 of the file, with line ends as \n. */
  readonly checksum: string;
  readonly up: readonly Statement[];
  /** Empty if the migration cannot be undone. */
  readonly down: readonly Statement[];
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
  const files = all.filter((file) => !file.startsWith('.')).toSorted();
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
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = await migrationNames(folder);
  const at = names.findIndex((name, index) => names[index + 1]?.slice(0, 4) === name.slice(0, 4));
  if (at >= 0)
    throw new AdministrationError(
      `${names[at]}.sql and ${names[at + 1]}.sql have the same number. Give those that are not on the main branch the next free ones: migrate renumber --base main`,
    );
  return Promise.all(
    names.map(async (name) => parseMigration(name, await readFile(join(folder, `${name}.sql`)))),
  );
}

function parseMigration(name: string, bytes: Uint8Array): Migration {
  const file = `${name}.sql`;
  const text = decoded(file, bytes).replaceAll('\r\n', '\n');
  const parts = splitByMarkers(file, text);
  const [up, down] = [parts.up, parts.down].map((part) => statementsOf(part.sql, part.line));
  for (const statement of [...(up ?? []), ...(down ?? [])])
    if (isTransactionControl(statement))
      throw new AdministrationError(
        `${file}, line ${statement.line}: "${statement.text.split('\n')[0]}" begins or ends a transaction, and each migration runs in one already. Take the statement out.`,
      );
  if (!up?.length)
    throw new AdministrationError(
      `${file} has no statement below "-- Up Migration". Write what it is to do, or remove the file.`,
    );
  return { name, checksum: createHash('sha256').update(text).digest('hex'), up, down: down ?? [] };
}

function decoded(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes); // without a byte order mark
  } catch {
    throw new AdministrationError(`${file} is not in UTF-8. Save it in that encoding.`);
  }
}
