import type { Client } from 'pg';
import { AdministrationError } from '../frame/command.js';
import { type Migration, numberOf, subjectOf } from './read-migrations.js';

const TABLE = 'public.applied_migration';

/** In the order in which they were applied. The order does not depend on a clock or a time zone. */
const CREATE = `create table if not exists ${TABLE} (
  id int not null generated always as identity constraint applied_migration_id_is_unique primary key,
  name text not null constraint applied_migration_is_applied_once unique,
  checksum text not null,
  applied_at timestamptz not null default now(),
  applied_by text not null default session_user
)`;

export interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
  /** RFC 3339, in UTC. */
  readonly appliedAt: string;
  readonly appliedBy: string;
}

/** The applied migrations, in that order. */
export async function appliedMigrations(client: Client): Promise<AppliedMigration[]> {
  const table = await client.query(`select where to_regclass('${TABLE}') is not null`);
  if (!table.rowCount) return [];
  const { rows } = await client.query<AppliedMigration>(
    `select name, checksum, applied_by as "appliedBy",
      to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "appliedAt" from ${TABLE} order by id`,
  );
  return rows;
}

export async function recordApplied(client: Client, migration: Migration): Promise<void> {
  await client.query(CREATE);
  await client.query(`insert into ${TABLE} (name, checksum) values ($1, $2)`, [
    migration.name,
    migration.checksum,
  ]);
}

export async function recordUndone(client: Client, name: string): Promise<void> {
  await client.query(`delete from ${TABLE} where name = $1`, [name]);
}

/** An applied migration and its file, which may have been renumbered, changed or deleted since. */
export interface AppliedEntry extends AppliedMigration {
  readonly migration: Migration | undefined;
  readonly isChanged: boolean;
}

/** The files compared with the database. */
export interface MigrationState {
  /** In the order in which they were applied. */
  readonly applied: readonly AppliedEntry[];
  readonly pending: readonly Migration[];
}

export function compareWithApplied(
  migrations: readonly Migration[],
  records: readonly AppliedMigration[],
): MigrationState {
  const fileOf = ({ name, checksum }: AppliedMigration): Migration | undefined =>
    migrations.find((file) => file.name === name && file.checksum === checksum) ??
    migrations.find(
      (file) => subjectOf(file.name) === subjectOf(name) && file.checksum === checksum,
    ) ??
    migrations.find((file) => file.name === name);
  const applied = records.map((record): AppliedEntry => {
    const migration = fileOf(record);
    const isChanged = migration !== undefined && migration.checksum !== record.checksum;
    return { ...record, migration, isChanged };
  });
  const known = new Set(applied.map(({ migration }) => migration));
  return { applied, pending: migrations.filter((file) => !known.has(file)) };
}

/** What is wrong with the file of an applied migration, and how to correct it. */
export function faultOf({ name, migration, isChanged }: AppliedEntry): string | undefined {
  if (!migration)
    return `${name}.sql was applied, and its file is gone. Restore it, or use the release that it belongs to.`;
  return isChanged
    ? `${name}.sql was changed after it was applied. Restore it, and write a new migration for what is to change.`
    : undefined;
}

/** @throws AdministrationError that names each file that differs from what was applied, or whose number is too low */
export function assertConsistent({ applied, pending }: MigrationState): void {
  const faults = applied.map(faultOf).filter((fault) => fault !== undefined);
  // The order of a migration that was renumbered after it was applied means nothing here
  const inOrder = applied.filter(({ name, migration }) => migration?.name === name);
  const highest = Math.max(0, ...inOrder.map(({ name }) => numberOf(name)));
  for (const { name } of pending.filter((file) => numberOf(file.name) < highest))
    faults.push(
      `${name}.sql is pending, and later ones are applied. Give it the next free number: migrate renumber --base main`,
    );
  if (faults.length > 0) throw new AdministrationError(faults.join('\n'));
}
