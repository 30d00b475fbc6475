// Compares the files in migrations/ with the table pgmigrations of node-pg-migrate, which names the applied migrations.
import type { Session } from '../../database/session.js';
import { readColumn } from '../cli/connection.js';
import { readNames } from './migration-files.js';

export interface MigrationState {
  /** The migrations in pgmigrations, in the order in which they were applied. */
  readonly applied: readonly string[];
  /** The migrations that are not applied, in the order in which `up` will apply them. */
  readonly pending: readonly string[];
  /** Applied migrations that have no file in `migrations/`. */
  readonly missing: readonly string[];
  /** The applied migrations by `run_on`, a time of the server's clock. node-pg-migrate undoes the last one first. */
  readonly appliedByTime: readonly string[];
}

const TABLE_EXISTS = `select where to_regclass('public.pgmigrations') is not null`;
const APPLIED = 'select name from public.pgmigrations order by id';
/** This order differs from that of APPLIED if the server's clock was set back. */
const APPLIED_BY_TIME = 'select name from public.pgmigrations order by run_on, id';

export async function readState(session: Session): Promise<MigrationState> {
  const { names } = await readNames();
  const { rowCount } = await session.query(TABLE_EXISTS);
  const applied = rowCount === 0 ? [] : await readColumn(session, APPLIED);
  return {
    applied,
    appliedByTime: rowCount === 0 ? [] : await readColumn(session, APPLIED_BY_TIME),
    pending: names.filter((name) => !applied.includes(name)),
    missing: applied.filter((name) => !names.includes(name)),
  };
}

/** Returns one line, or none. The line names three reasons, because the database does not show which one is true. */
export function describeMissing({ missing }: Pick<MigrationState, 'missing'>): string[] {
  if (missing.length === 0) return [];
  const paths = missing.map((name) => `migrations/${name}.sql`).join(' ');
  return [
    `Applied, but without a file in migrations/: ${missing.join(', ')}. Such a file is in a newer release or on ` +
      `another branch, or it was reverted. To find it: git log --all -- ${paths}`,
  ];
}
