import type { Client } from 'pg';
import { AdministrationError, typed } from '../frame/command.js';
import { type MigrationFile, numberOf, subjectOf } from './migration-files.js';

/** An applied migration and its file. */
export interface AppliedMigration {
  readonly name: string;
  /** The name under which it was applied, before `renumber`. */
  readonly appliedAs: string;
  /** Undefined if the file is gone. */
  readonly file: MigrationFile | undefined;
}

/** The files compared with the table of node-pg-migrate. */
export interface MigrationState {
  /** In the order in which they were applied. */
  readonly applied: readonly AppliedMigration[];
  readonly pending: readonly MigrationFile[];
  /** A sentence for each applied file that is gone. */
  readonly gone: readonly string[];
}

export async function readState(
  client: Client,
  files: readonly MigrationFile[],
): Promise<MigrationState> {
  const table = await client.query(`select where to_regclass('public.pgmigrations') is not null`);
  const { rows } = table.rowCount
    ? await client.query<{ name: string }>(
        'select name from public.pgmigrations order by run_on, id',
      )
    : { rows: [] };
  const names = new Set(rows.map(({ name }) => name));
  const fresh = files.filter(({ name }) => !names.has(name));
  const applied = rows.map(({ name }) => {
    const file =
      files.find((one) => one.name === name) ??
      fresh.find((one) => subjectOf(one.name) === subjectOf(name));
    return { name: file?.name ?? name, appliedAs: name, file };
  });
  const known = new Set(applied.map(({ name }) => name));
  return {
    applied,
    pending: files.filter(({ name }) => !known.has(name)),
    gone: applied.flatMap(({ name, file }) => (file ? [] : [goneSentence(name)])),
  };
}

export const goneSentence = (name: string): string =>
  `${name}.sql was applied, and its file is gone. Restore it, or use the release that it belongs to.`;

/** @throws AdministrationError that names each applied file that is gone, and each pending one whose number is too low */
export function assertConsistent({ applied, pending, gone }: MigrationState): void {
  // The order of a migration that was renumbered after it was applied means nothing here
  const inOrder = applied.filter(({ name, appliedAs }) => name === appliedAs);
  const highest = Math.max(0, ...inOrder.map(({ name }) => numberOf(name)));
  const low = pending
    .filter(({ name }) => numberOf(name) < highest)
    .map(
      ({ name }) =>
        `${name}.sql is pending, and later ones are applied. Give it the next free number: ${typed('migrate', 'renumber --base main')}`,
    );
  if (gone.length + low.length > 0) throw new AdministrationError([...gone, ...low].join('\n'));
}

/** node-pg-migrate knows a migration by its name alone. */
export async function noteNewNumbers(client: Client, { applied }: MigrationState): Promise<void> {
  for (const { name, appliedAs } of applied)
    if (name !== appliedAs)
      await client.query('update public.pgmigrations set name = $1 where name = $2', [
        name,
        appliedAs,
      ]);
}
