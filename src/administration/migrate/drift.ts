import type { Client } from 'pg';
import { objectFaults } from '../../database/objects.js';
import { TEXT, command, refuse } from '../frame/command.js';
import { columnOf, withDatabase } from '../frame/connect.js';
import { momentOf } from '../frame/time.js';
import { KEYS_APPLICATION } from '../keys/keys.js';
import * as lists from '../lists/list-tables.js';
import { createMigration } from './create-migration.js';
import { readState } from './migration-state.js';
import { withRehearsal } from './rehearsal.js';

/** The samples that the demo loads by this name are no drift. */
export const DEMO_APPLICATION = 'order-lookup-demo';

type Drift = Record<'line' | 'table', string> & Record<'before' | 'after', lists.Row | null>;

export const drift = command({
  usage: '[--since DATE] [--to-migration NAME]',
  summary:
    'shows what was changed by anything but migrations and the key commands since DATE (90 days ago) and not written by a migration since, and by whom, rows that the record lacks, and objects that are not what the migrations made, with the statements that mend them; status 2 where there is something; with --to-migration writes the migration that these changes should have been',
  options: { since: TEXT, 'to-migration': TEXT },
  run: async ({ since, 'to-migration': name }) => {
    const time = since === undefined ? undefined : momentOf('--since', since);
    if (name !== undefined) {
      // With the pending migrations, so that the same rows are not written twice
      const text = await withRehearsal(async (client) => {
        const { rows } = await findDrift(client, time);
        return migrationOf(client, rows);
      });
      return createMigration(name, text);
    }
    const { lines } = await withDatabase((client) => findDrift(client, time));
    const text = lines.join('\n') || 'Only migrations and the key commands changed something.';
    return { text, status: lines.length > 0 ? 2 : 0 };
  },
});

const PROPERTY = ['area', 'property'];
/** The tables of codes, those that others refer to first. */
const TABLES: readonly lists.Table[] = [
  { table: 'code_list', key: ['name'], columns: ['name'] },
  lists.LISTS['code-lists'],
  { table: 'area_property', key: PROPERTY, columns: [...PROPERTY, 'position', 'code_list'] },
  lists.LISTS['communication-codes'],
];
const RECORDED = [...TABLES, { table: 'api_key', key: ['id'] }];
const KEYS = RECORDED.map(({ table, key }) => `('${table}', array['${key.join("', '")}'])`);
const ROWS = RECORDED.map(({ table }) => `select '${table}', to_jsonb(t) from public.${table} t`);

// Changes that are not of a migration (which changed pgmigrations in the same transaction, whatever a session claims), where no migration has
// written each of their rows since. Then rows that are not what the record adds up to, unless only its deleted beginning could name them.
const DRIFT = `with keys (table_name, names) as (values ${KEYS.join(', ')}),
  migration as (select transaction_id, begun_at from public.history where table_name = 'pgmigrations'),
  written as (
    select id, at, (transaction_id, begun_at) in (table migration) as is_migration, table_name, array(select named ->> name from unnest(names) name) as key, whole
    from public.history join keys using (table_name), lateral (values (1, old_row, null), (2, new_row, new_row)) side (at, named, whole) where named is not null),
  settled as (select id, is_migration, max(id) filter (where is_migration) over (partition by table_name, key) as settled_by from written),
  recorded as (select distinct on (table_name, key) table_name, key, whole from written order by table_name, key, id desc, at desc),
  present as (
    select table_name, array(select whole ->> name from unnest(names) name) as key, whole - 'key_hash' as whole
    from keys join (${ROWS.join(' union all ')}) t (table_name, whole) using (table_name))
select id, format('%s  %s (%s)  %s %s %s', to_char(changed_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), database_user,
    concat_ws(', ', nullif(application, ''), 'says to be ' || person, 'claims the migration ' || migration), operation, table_name,
    concat_ws(' → ', jsonb_strip_nulls(old_row), jsonb_strip_nulls(new_row))) as line,
  table_name as table, old_row as before, new_row as after
from public.history where id in (select id from settled where not is_migration and id > coalesce(settled_by, 0))
  and changed_at >= coalesce($1::timestamptz, now() - interval '90 days')
  and not (application = '${KEYS_APPLICATION}' and table_name = 'api_key')
  and not (application = '${DEMO_APPLICATION}' and (operation, table_name) = ('INSERT', 'communication_code') and new_row ->> 'code_type' like 'SAMPLE-%')
union all select null, format('%s: the table holds %s, the record of changes %s', table_name,
    coalesce(jsonb_strip_nulls(p.whole)::text, 'no row'), coalesce(jsonb_strip_nulls(r.whole)::text, 'no row')), table_name, r.whole, p.whole
from present p full join recorded r using (table_name, key)
where p.whole is distinct from r.whole and case
  when r.key is null then exists (select from public.history where id = 1)
  when p.whole is not null and r.whole is not null
    then exists (select from jsonb_each(p.whole) one join jsonb_each(r.whole) other using (key) where one.value <> other.value)
  else true end
order by id, line`;

/** Of objects nothing is said where a newer release made others. */
export async function findDrift(client: Client, since: string | null = null) {
  const { rows } = await client.query<Drift>(DRIFT, [since]);
  const { missing } = await readState(client);
  const objects = missing.length > 0 ? [] : await objectFaults(client);
  const lines = objects.map((one) => `${one.name} ${one.fault}. As the owner: ${one.remedy}`);
  return { rows, lines: [...rows.map(({ line }) => line), ...lines] };
}

/** It first undoes the drift, so that the record holds the same rows as those of a migration. Keys are left out: the record lacks their hashes. */
async function migrationOf(client: Client, rows: readonly Drift[]): Promise<string> {
  const changes = [];
  for (const table of TABLES) {
    const query = `select to_jsonb(t) from public.${table.table} t order by t`;
    const present = await columnOf<lists.Row>(client, query);
    const former = new Map(present.map((row) => [lists.keyOf(table, row), row]));
    const theirs = rows.filter((one) => one.table === table.table);
    for (const { line, before, after } of theirs.reverse()) {
      if (after && !former.delete(lists.keyOf(table, after)))
        refuse(`A migration changed the same row later. Write the migration yourself: ${line}`);
      if (before) former.set(lists.keyOf(table, before), before);
    }
    changes.push(lists.compare(table, [...former.values()], present));
  }
  const text = lists.migrationText('What was changed by hand', changes, true);
  return text || refuse('No code was changed by hand. Nothing was written.');
}
