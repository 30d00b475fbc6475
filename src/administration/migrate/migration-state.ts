// The migrations of the tree compared with the table of node-pg-migrate: one counts as applied if the table has its name.
import type { Client } from 'pg';
import { readColumn } from '../cli/transaction.js';
import { readNames } from './migration-files.js';

export interface MigrationState {
  /** In the order in which they were applied. */
  readonly applied: readonly string[];
  /** In the order in which they will be applied. */
  readonly pending: readonly string[];
  /** Those of `applied` that the tree lacks. */
  readonly missing: readonly string[];
}

const TABLE = `select where to_regclass('public.pgmigrations') is not null`;
/** As node-pg-migrate orders them. `down` undoes the last of this order, so with another one it would show others. */
const APPLIED = 'select name from public.pgmigrations order by run_on, id';

export async function readState(session: Client): Promise<MigrationState> {
  const { names } = await readNames();
  const { rowCount } = await session.query(TABLE);
  const applied = rowCount === 0 ? [] : await readColumn(session, APPLIED);
  return {
    applied,
    pending: names.filter((name) => !applied.includes(name)),
    missing: applied.filter((name) => !names.includes(name)),
  };
}

/** One line, or none. Nothing in the database tells which of the reasons it is. */
export function describeMissing({ missing }: Pick<MigrationState, 'missing'>): string[] {
  if (missing.length === 0) return [];
  const paths = missing.map((name) => `migrations/${name}.sql`).join(' ');
  return [
    `Applied, but not among the files: ${missing.join(', ')}. Either a newer release applied this, ` +
      `or it was reverted, or belongs to another branch: git log --all -- ${paths}`,
  ];
}
