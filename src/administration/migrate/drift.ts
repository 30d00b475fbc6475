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
  const { rows } = await client.query<{ there: boolean }>(
    `select to_regclass('public.trigger_fault') is not null as there`,
  );
  if (!rows[0]?.there) return undefined;
  const counted = await client.query<{ count: number }>(
    `select count(*)::int as count ${FOREIGN}`,
    [null],
  );
  const count = (counted.rows[0]?.count ?? 0) + (await triggerFaults(client)).length;
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

/**
 * The migration that changes by hand should have been, with its way back; undefined if no code is different from what it was. Where the changes
 * were made it changes nothing.
 */
export function migrationOf({ changes }: Drift, title: string): string | undefined {
  const [up, down] = [new Map<Table, Ends[]>(), new Map<Table, Ends[]>()];
  for (const table of TABLES) {
    const ends = new Map<string, Ends>();
    for (const { before, after } of changes.filter((change) => change.table === table.table))
      for (const [name, row] of [
        ['before', before],
        ['after', after],
      ] as const) {
        if (!row) continue;
        const text = textual(table, row);
        const key = keyOf(table, text);
        const known = ends.get(key) ?? {
          row: text,
          first: undefined,
          last: undefined,
          seen: false,
        };
        ends.set(key, {
          ...known,
          first: known.seen ? known.first : name === 'before' ? text : undefined,
          last: name === 'after' ? text : undefined,
          seen: true,
        });
      }
    const different = [...ends.values()].filter(
      ({ first, last }) => JSON.stringify(first) !== JSON.stringify(last),
    );
    up.set(table, different);
    down.set(
      table,
      different.map((one) => ({ ...one, first: one.last, last: one.first })),
    );
  }
  return [...up.values()].every((ends) => ends.length === 0)
    ? undefined
    : migrationText(title, statements(up), statements(down));
}

/** A row before the first and after the last of its changes; undefined if it was not there. */
interface Ends {
  readonly row: Row;
  readonly first: Row | undefined;
  readonly last: Row | undefined;
  readonly seen: boolean;
}

const statements = (ends: ReadonlyMap<Table, readonly Ends[]>): string[] => [
  ...[...ends].flatMap(([table, rows]) =>
    upsert(
      table,
      rows.flatMap(({ last }) => (last ? [last] : [])),
    ),
  ),
  ...[...ends].reverse().flatMap(([table, rows]) =>
    remove(
      table,
      rows.filter(({ last }) => !last).map(({ row }) => row),
    ),
  ),
];

const textual = ({ columns }: Table, row: JsonRow): Row =>
  Object.fromEntries(columns.map((name) => [name, String(row[name] ?? '')]));
