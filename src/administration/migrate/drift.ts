import type { Client } from 'pg';
import { TEXT, command, refuse } from '../frame/command.js';
import { textsOf, withDatabase } from '../frame/connect.js';
import { parseTime } from '../frame/time.js';
import { KEYS_APPLICATION } from '../keys/keys.js';
import * as lists from '../lists/list-tables.js';
import { createMigration } from './migration-files.js';

/** The demo loads its samples by this name. They are no drift: their code types say that they are samples. */
export const DEMO_APPLICATION = 'order-lookup-demo';

/** A change of a code or a key, without its hash, that neither a migration nor a key command made. */
type ForeignChange = Record<'id' | 'said' | 'table', string> &
  Record<'before' | 'after', lists.Row | null>;

export const drift = command({
  usage: '[--since DATE] [--to-migration NAME]',
  summary:
    'shows what was changed by anything but migrations and the key commands since DATE (90 days ago), and by whom, and triggers that are missing or off; status 2 where there is something; with --to-migration writes the migration that these changes should have been',
  options: { since: TEXT, 'to-migration': TEXT },
  run: ({ since, 'to-migration': name }) =>
    withDatabase(async (client) => {
      const time = since && parseTime(since.replace(/^[-\d]{10}$/, '$&T00:00:00Z'));
      if (since !== undefined && !time)
        refuse(`--since is "${since}", not a date such as 2027-01-01.`);
      const changes = await foreignChanges(client, time);
      if (name !== undefined)
        return { text: await createMigration(name, await migrationOf(client, changes)) };
      const lines = changes.map(({ said }) => said);
      for (const said of await triggerFaults(client))
        lines.push(`${said}: the record lacks what was changed since then`);
      const text = lines.join('\n') || 'Only migrations and the key commands changed something.';
      return { text, status: lines.length > 0 ? 2 : 0 };
    }),
});

/** A migration changed pgmigrations in the same transaction, whatever a session claims. */
const BY_MIGRATIONS = `select m.transaction_id, m.begun_at from public.history m where m.table_name = 'pgmigrations'`;

/** The oldest ones first: when, who logged in, what the session said of itself, and the rows. */
async function foreignChanges(client: Client, since?: string): Promise<ForeignChange[]> {
  const { rows } = await client.query<ForeignChange>(
    `select id, format('%s  %s (%s)  %s %s %s', to_char(changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), database_user,
        concat_ws(', ', nullif(application, ''), 'says to be ' || person, 'claims the migration ' || migration), operation, table_name,
        concat_ws(' → ', jsonb_strip_nulls(old_row), jsonb_strip_nulls(new_row))) as said,
      table_name as table, old_row as before, new_row as after
      from public.history where changed_at >= coalesce($1::timestamptz, now() - interval '90 days') and table_name <> 'pgmigrations'
      and not (application = '${KEYS_APPLICATION}' and table_name = 'api_key')
      and not (application = '${DEMO_APPLICATION}' and coalesce(new_row ->> 'code_type', '') like 'SAMPLE-%')
      and (transaction_id, begun_at) not in (${BY_MIGRATIONS})
      order by id`,
    [since],
  );
  return rows;
}

const TRIGGER_FAULTS = `select format('the trigger %s of %s %s', trigger_name, table_name, fault) from public.trigger_fault`;
export const triggerFaults = (client: Client): Promise<string[]> => textsOf(client, TRIGGER_FAULTS);

export const countDrift = async (client: Client): Promise<number> =>
  (await foreignChanges(client)).length + (await triggerFaults(client)).length;

const PROPERTY = ['area', 'property'];
/** The tables of codes, those that others refer to first. */
const TABLES: readonly lists.Table[] = [
  { table: 'code_list', key: ['name'], columns: ['name'] },
  lists.LISTS['code-lists'],
  { table: 'area_property', key: PROPERTY, columns: [...PROPERTY, 'position', 'code_list'] },
  lists.LISTS['communication-codes'],
];

/** A row of the record, its moments written as in a file. */
const asInFile = (row: lists.Row): lists.Row =>
  Object.assign({}, row, ...lists.MOMENTS.map((name) => ({ [name]: parseTime(`${row[name]}`) })));

/** A sentence for a migration that later changed the key, or the place among others, of a row that has one of $4 in the column $3. */
const LATER = `select format('After the change by hand %s changed %s of the same %s. Write the migration yourself: drift shows the rows.', migration, $2::text, $3::text)
  from public.history where id > $1 and table_name = $2 and (transaction_id, begun_at) in (${BY_MIGRATIONS})
  and array[old_row ->> $3, new_row ->> $3] && $4::text[]
  and (coalesce(old_row, new_row) ? 'position' or exists (select from unnest($5::text[]) name where old_row ->> name <> new_row ->> name)) order by id limit 1`;

/**
 * The migration that changes by hand should have been, with its way back. It writes the present rows, so it changes nothing where the changes were
 * made, whatever migrations changed later. Keys are left out: the record does not hold their hashes.
 * @throws AdministrationError if a later migration changed keys or places, so that the changes cannot be told apart
 */
async function migrationOf(client: Client, changes: readonly ForeignChange[]): Promise<string> {
  const states = [];
  for (const table of TABLES) {
    const rows = await lists.readRows(client, table);
    const former = new Map(rows.map((row) => [lists.keyOf(table, row), row]));
    const own = changes.filter((change) => change.table === table.table);
    const [group = ''] = table.key;
    const groups = own.flatMap(({ before, after }) => [before?.[group], after?.[group]]);
    const values = [own[0]?.id, table.table, group, groups, table.key];
    for (const said of await textsOf(client, LATER, values)) refuse(said);
    for (const { before, after } of own.toReversed()) {
      if (after) former.delete(lists.keyOf(table, after));
      if (before) former.set(lists.keyOf(table, before), asInFile(before));
    }
    states.push(lists.compare(table, [...former.values()], rows));
  }
  const text = lists.migrationText('What was changed by hand', states);
  return text || refuse('No code was changed by hand. Nothing was written.');
}
