import type { Client } from 'pg';
import { TABLES } from '../../../database/tables.js';
import { columnOf } from '../../cli/transaction.js';

/** The columns by which a change says whose row it is. */
const KEYS_OF_TABLES = TABLES.map(({ name, key }) => `('${name}', array['${key.join("', '")}'])`);

/** Codes change by migrations, and keys by the key commands, which nothing but what a session says of itself tells. */
export type Subject = 'codes' | 'keys';

/**
 * The changes of the subject $1 that no migration made, of the last 90 days or since $2. A migration is known by its row of pgmigrations in the
 * same transaction, whatever a session claims. It settles every earlier change of a row that it writes. A change that
 * names two keys is settled only if both are.
 */
const DRIFT = `
  with key_of (table_name, columns) as (values ${KEYS_OF_TABLES.join(', ')}),
  migration as (
    select transaction_id, begun_at from public.history where table_name = 'pgmigrations'
  ),
  -- One row for each side of a change: an update has two, which name the same key unless it changed the key
  named as (
    select
      history.id,
      (transaction_id, begun_at) in (select transaction_id, begun_at from migration) as is_migration,
      table_name,
      array(select row_there ->> column_name from unnest(columns) as column_name) as key
    from public.history
    join key_of using (table_name),
    unnest(array[old_row, new_row]) as row_there
    where row_there is not null
  ),
  with_last_migration as (
    select
      id,
      is_migration,
      max(id) filter (where is_migration) over (partition by table_name, key) as last_migration
    from named
  ),
  drift as (
    select *
    from public.history
    where id in (select id from with_last_migration where not is_migration and id > coalesce(last_migration, 0))
      and (table_name = 'api_key') = ($1 = 'keys')
      and changed_at >= coalesce($2::timestamptz, now() - interval '90 days')
  )`;

const SHOW_DRIFT = `${DRIFT}
  select
    format('%s  %s (%s)  %s %s %s',
      to_char(changed_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      database_user, -- the login is certain; what follows is what the session said about itself
      concat_ws(', ', nullif(application, ''), 'says to be ' || person, 'claims the migration ' || migration),
      operation,
      table_name,
      concat_ws(' → ', jsonb_strip_nulls(old_row), jsonb_strip_nulls(new_row))
    ) as line
  from drift
  order by id
  limit $3`;

const COUNT_DRIFT = `${DRIFT} select count(*)::int as count from drift`;

interface ReadOptions {
  readonly sinceTime: string | undefined;
  readonly limit: number;
}

/** The drifting changes as people read them, in the order in which they were made. */
export function readDrift(client: Client, subject: Subject, { sinceTime, limit }: ReadOptions): Promise<string[]> {
  return columnOf(client, SHOW_DRIFT, [subject, sinceTime ?? null, limit]);
}

/** PostgreSQL counts the changes, however many there are. */
export async function countDrift(client: Client, subject: Subject, sinceTime?: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(COUNT_DRIFT, [subject, sinceTime ?? null]);
  return rows[0]?.count ?? 0;
}
