import type { Client } from 'pg';
import { KEYS_APPLICATION } from '../keys/keys.js';

/** How many changes are shown. */
const SHOWN = 1_000;

/** A change of a code or a key that neither a migration nor a key command made. */
export interface ForeignChange {
  readonly committedAt: Date;
  /** The role that logged in, or the name in the setting order_lookup.person. */
  readonly by: string;
  readonly application: string;
  readonly operation: 'INSERT' | 'UPDATE' | 'DELETE' | 'TRUNCATE';
  readonly table: string;
  readonly before: object | null;
  readonly after: object | null;
}

export interface Drift {
  /** The oldest ones first, at most SHOWN. */
  readonly changes: readonly ForeignChange[];
  /** How many there are in all. */
  readonly count: number;
  /** Tables for which the record of changes may be incomplete. */
  readonly gaps: readonly string[];
}

const CHANGES = `
  select h.changed_at as "committedAt", coalesce(h.person, h.database_user) as by, h.application, h.operation, h.table_name as table,
    jsonb_strip_nulls(h.old_row) as before, jsonb_strip_nulls(h.new_row) as after, (count(*) over ())::int as count
  from public.history h
  where h.migration is null and not (h.application = $1 and h.table_name = 'api_key') and h.table_name <> 'pgmigrations'
  order by h.id limit ${SHOWN}`;

/** What was changed since the last run of migrations began, by anything but migrations and the key commands. */
export async function readDrift(client: Client): Promise<Drift> {
  const { rows } = await client.query<ForeignChange & { count: number }>(CHANGES, [
    KEYS_APPLICATION,
  ]);
  return {
    changes: rows.map(({ count: _count, ...change }) => change),
    count: rows[0]?.count ?? 0,
    gaps: await incompleteTables(client),
  };
}

/** The tables for which the record of changes may be incomplete since the last run of migrations. */
export async function incompleteTables(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select distinct table_name as name from public.trigger_fault order by 1',
  );
  return rows.map(({ name }) => name);
}
