// Compares the migrations of the tree with the table of node-pg-migrate. A migration is applied if its name is there.
import type { Session } from '../../database/session.js';
import { readColumn } from '../cli/connection.js';
import { readNames } from './migration-files.js';

export interface MigrationState {
  /** In the order in which they were applied. */
  readonly applied: readonly string[];
  /** In the order in which they will be applied. */
  readonly pending: readonly string[];
  /** Applied migrations that have no file in `migrations/`. */
  readonly missing: readonly string[];
  /** The applied migrations by the server's clock. node-pg-migrate undoes the last one first. */
  readonly appliedByTime: readonly string[];
}

const TABLE = `select where to_regclass('public.pgmigrations') is not null`;
const APPLIED = 'select name from public.pgmigrations order by id';
/** node-pg-migrate undoes the last of this order. It differs from APPLIED if the server's clock was set back. */
const APPLIED_BY_TIME = 'select name from public.pgmigrations order by run_on, id';

export async function readState(session: Session): Promise<MigrationState> {
  const { names } = await readNames();
  const { rowCount } = await session.query(TABLE);
  const applied = rowCount === 0 ? [] : await readColumn(session, APPLIED);
  return {
    applied,
    appliedByTime: rowCount === 0 ? [] : await readColumn(session, APPLIED_BY_TIME),
    pending: names.filter((name) => !applied.includes(name)),
    missing: applied.filter((name) => !names.includes(name)),
  };
}

/** Returns one line, or none. It names several reasons, because the database does not show which one is true. */
export function describeMissing({ missing }: Pick<MigrationState, 'missing'>): string[] {
  if (missing.length === 0) return [];
  const paths = missing.map((name) => `migrations/${name}.sql`).join(' ');
  return [
    `Applied, but without a file in migrations/: ${missing.join(', ')}. Such a file is in a newer release or on ` +
      `another branch, or it was reverted. To find it: git log --all -- ${paths}`,
  ];
}
