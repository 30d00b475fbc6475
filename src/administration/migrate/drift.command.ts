// Changes of codes that no migration made, and changes of keys.
import { Command } from 'commander';
import type { Client } from 'pg';
import { TABLES } from '../../database/tables.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { print } from '../cli/program.js';
import { parseTimeOrDate } from '../cli/time.js';
import { readColumn, withReading } from '../cli/transaction.js';

/** Nobody reads more, and the command has to stay within the memory of a small container. */
const MAX_SHOWN_CHANGES = 1_000;

const KEYS_OF_TABLES = TABLES.map(({ name, key }) => `('${name}', array['${key.join("', '")}'])`);

/** Codes change by migrations, and keys by the key commands, which nothing but what a session says of itself tells. */
type Subject = 'codes' | 'keys';

/**
 * The changes of the subject $1 that no migration made, of the last 90 days or since $2. A migration is known by its
 * row of pgmigrations in the same transaction, whatever a session claims. It settles every earlier change of a row that
 * it writes. A change that names two keys is settled only if both are.
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
      array(select row_there ->> column_name from pg_catalog.unnest(columns) as column_name) as key
    from public.history
    join key_of using (table_name),
    pg_catalog.unnest(array[old_row, new_row]) as row_there
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
    pg_catalog.format('%s  %s (%s)  %s %s %s',
      to_char(changed_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      database_user, -- the login is certain; what follows is what the session said about itself
      pg_catalog.concat_ws(', ', nullif(application, ''), 'says to be ' || person, 'claims the migration ' || migration),
      operation,
      table_name,
      pg_catalog.concat_ws(' → ', jsonb_strip_nulls(old_row), jsonb_strip_nulls(new_row))
    ) as line
  from drift
  order by id
  limit $3`;

const COUNT_DRIFT = `${DRIFT} select count(*)::int as count from drift`;

const SUMMARY = `shows the changes of codes that no migration made, and by whom, until a migration has written the same
rows. Status 2 where there is one. Changes of API keys are shown apart, and are no drift`;

export const drift = new Command('drift')
  .description(SUMMARY)
  .option('--since <DATE>', 'changes from then on; 90 days without it', parseTimeOrDate)
  .action(({ since }: { since?: string }) => withReading((client) => showDrift(client, since)));

async function showDrift(client: Client, sinceTime: string | undefined): Promise<void> {
  const ofCodes = await listChanges(client, 'codes', sinceTime);
  const ofKeys = await listChanges(client, 'keys', sinceTime);
  const lines = ofCodes.length > 0 ? ofCodes : ['Only migrations changed codes.'];
  if (ofKeys.length > 0) lines.push('', 'Changes of API keys, which are no drift, by login and program:', ...ofKeys);
  print(lines.join('\n'));
  if (ofCodes.length > 0) process.exitCode = 2;
}

/** In the order in which they were made. PostgreSQL counts those that are left out, however many there are. */
async function listChanges(client: Client, subject: Subject, sinceTime: string | undefined): Promise<string[]> {
  const parameters = [subject, sinceTime ?? null];
  const lines = await readColumn(client, SHOW_DRIFT, [...parameters, MAX_SHOWN_CHANGES]);
  const shown = lines.map(showInvisible);
  if (lines.length < MAX_SHOWN_CHANGES) return shown;
  const [count = MAX_SHOWN_CHANGES] = await readColumn<number>(client, COUNT_DRIFT, parameters);
  const others = count - lines.length;
  return others > 0 ? [...shown, `… and ${others} later changes. To see them: --since`] : shown;
}
