import type { Client } from 'pg';
import { typed } from '../frame/command.js';
import { KEYS_APPLICATION } from '../keys/keys.js';
import { migrationText, remove, upsert } from '../lists/list-migration.js';
import { LISTS, type Row, type Table, keyOf } from '../lists/list-tables.js';

type JsonRow = Readonly<Record<string, string | number | null>>;

/** A change of a code or a key that neither a migration nor a key command made. */
export interface ForeignChange {
  /** RFC 3339, in UTC. */
  readonly changedAt: string;
  /** The role that logged in. */
  readonly by: string;
  /** What the session said of itself. */
  readonly application: string;
  readonly person: string | null;
  readonly migration: string | null;
  readonly operation: 'INSERT' | 'UPDATE' | 'DELETE' | 'TRUNCATE';
  readonly table: string;
  readonly before: JsonRow | null;
  readonly after: JsonRow | null;
}

export interface Drift {
  /** The oldest ones first. */
  readonly changes: readonly ForeignChange[];
  /** Triggers that are missing or off: since when, and what was changed meanwhile, is not known. */
  readonly triggers: readonly string[];
}

/** When drift is looked for without another time: the last 90 days. */
export const DEFAULT_SINCE = '90 days';

/** A migration changed pgmigrations in the same transaction, whatever a session claims. */
const FOREIGN = `from public.history h
  where h.changed_at >= coalesce($1::timestamptz, now() - interval '${DEFAULT_SINCE}') and h.table_name <> 'pgmigrations'
    and not (h.application = '${KEYS_APPLICATION}' and h.table_name = 'api_key')
    and (h.transaction_id, h.begun_at) not in (select m.transaction_id, m.begun_at from public.history m where m.table_name = 'pgmigrations')`;

/** @param since RFC 3339 */
export async function readDrift(client: Client, since?: string): Promise<Drift> {
  const { rows } = await client.query<ForeignChange>(
    `select to_char(h.changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "changedAt", h.database_user as by, h.application,
      h.person, h.migration, h.operation, h.table_name as table, jsonb_strip_nulls(h.old_row) as before, jsonb_strip_nulls(h.new_row) as after
      ${FOREIGN} order by h.id`,
    [since],
  );
  return { changes: rows, triggers: await triggerFaults(client) };
}

export async function triggerFaults(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ said: string }>(
    `select format('the trigger %s of %s %s', trigger_name, table_name, fault) as said from public.trigger_fault`,
  );
  return rows.map(({ said }) => said);
}

/** One line where there is drift; undefined otherwise, or where there is no record of changes. */
export async function driftInOneLine(client: Client): Promise<string | undefined> {
  const { rowCount } = await client.query(
    `select where to_regclass('public.trigger_fault') is not null`,
  );
  if (!rowCount) return undefined;
  const { rows } = await client.query<{ count: number }>(
    `select (select count(*) ${FOREIGN})::int + (select count(*) from public.trigger_fault)::int as count`,
    [null],
  );
  const count = rows[0]?.count ?? 0;
  return count > 0
    ? `There is drift (${count}): something was changed by hand, or a trigger is missing or off. See: ${typed('migrate', 'drift')}`
    : undefined;
}

/** The tables of codes, those that others refer to first. */
const TABLES: readonly Table[] = [
  { table: 'code_list', key: ['name'], columns: ['name'] },
  LISTS['code-lists'],
  {
    table: 'area_property',
    key: ['area', 'property'],
    columns: ['area', 'property', 'position', 'code_list'],
  },
  LISTS['communication-codes'],
];

/** What stood under a key before the first change and after the last one; undefined if nothing. */
interface Ends {
  readonly table: Table;
  readonly first: Row | undefined;
  readonly last: Row | undefined;
}

/**
 * The migration that changes by hand should have been, with its way back; undefined if no code is different from what it was. Where the changes
 * were made it changes nothing.
 */
export function migrationOf({ changes }: Drift, title: string): string | undefined {
  const ends = TABLES.flatMap((table) => {
    const known = new Map<string, Ends>();
    const note = (row: JsonRow | null, isThere: boolean): void => {
      if (!row) return;
      const text = Object.fromEntries(table.columns.map((name) => [name, String(row[name] ?? '')]));
      const key = keyOf(table, text);
      const end = known.get(key) ?? { table, first: isThere ? undefined : text, last: undefined };
      known.set(key, { ...end, last: isThere ? text : undefined });
    };
    for (const change of changes.filter((one) => one.table === table.table)) {
      note(change.before, false);
      note(change.after, true);
    }
    return [...known.values()];
  }).filter(({ first, last }) => JSON.stringify(first) !== JSON.stringify(last));
  return ends.length === 0
    ? undefined
    : migrationText(title, statements(ends, 'first', 'last'), statements(ends, 'last', 'first'));
}

/** Rows are written in the order of the tables, and deleted in the other one. */
function statements(ends: readonly Ends[], from: 'first' | 'last', to: 'first' | 'last'): string[] {
  const rowsOf = (table: Table, pick: (end: Ends) => Row | undefined): Row[] =>
    ends
      .filter((end) => end.table === table)
      .map(pick)
      .filter((row) => row !== undefined);
  return [
    ...TABLES.flatMap((table) =>
      upsert(
        table,
        rowsOf(table, (end) => end[to]),
      ),
    ),
    ...TABLES.toReversed().flatMap((table) =>
      remove(
        table,
        rowsOf(table, (end) => (end[to] ? undefined : end[from])),
      ),
    ),
  ];
}
