import { stringify } from 'csv-stringify/sync';
import { type Client, escapeLiteral } from 'pg';

/** A row as it stands in a file or in the record of changes: null is also empty. Moments are in UTC, those of a file as short as RFC 3339 permits. */
export type Row = Readonly<Record<string, string | number | null>>;

/** A table that a migration can be written for. */
export interface Table {
  readonly table: string;
  readonly key: readonly string[];
  /** All columns, those of the key first. */
  readonly columns: readonly string[];
  /** Of the rows `t`; the key by default. A bare name would mean a text that is selected: as texts 10 comes before 2. */
  readonly order?: string;
}

export const MOMENTS = ['valid_from', 'valid_until'];

export const LISTS = {
  'communication-codes': {
    table: 'communication_code',
    key: ['code_type', 'code'],
    columns: ['code_type', 'code', 'description', ...MOMENTS],
  },
  'code-lists': {
    table: 'code_list_value',
    key: ['code_list', 'value'],
    columns: ['code_list', 'value', 'position', ...MOMENTS],
    // As the answers have them: those of order-update, those of order-capture-v2 alone, those of no area
    order: `(select min(array[(p.area <> 'order-update')::int, p.position]) from public.area_property p where p.code_list = t.code_list), t.code_list, t.position`,
  },
} satisfies Record<string, Table>;

/** The rows of a table that differ, as they are and as they will be. */
type Changes = Readonly<{ table: Table; before: readonly Row[]; after: readonly Row[] }>;

const joined = (row: Row, names: readonly string[]): string =>
  names.map((name) => row[name]).join('\0');
export const keyOf = ({ key }: Table, row: Row): string => joined(row, key);

export function compare(table: Table, before: readonly Row[], after: readonly Row[]): Changes {
  const without = (rows: readonly Row[], others: readonly Row[]): Row[] => {
    const same = new Set(others.map((row) => joined(row, table.columns)));
    return rows.filter((row) => !same.has(joined(row, table.columns)));
  };
  return { table, before: without(before, after), after: without(after, before) };
}

/** All rows, in the order of the answers. */
export async function readRows(client: Client, list: Table): Promise<Row[]> {
  const columns = list.columns.map((name) =>
    MOMENTS.includes(name)
      ? `coalesce(to_jsonb(t.${name} at time zone 'UTC') #>> '{}' || 'Z', '') as ${name}`
      : `t.${name}::text`,
  );
  const order = list.order ?? `t.${list.key.join(', t.')}`;
  const { rows } = await client.query<Row>(
    `select ${columns.join(', ')} from public.${list.table} t order by ${order}`,
  );
  return rows;
}

/** CSV by RFC 4180, with a header. */
export const toCsv = ({ columns }: Table, rows: readonly Row[]): string =>
  stringify([...rows], { columns, header: true, record_delimiter: 'windows' });

/**
 * A migration with its way back, or nothing if no row differs. Tables that others refer to come first: rows are written in this order, and deleted in the other one.
 * @param isAgain whether it first brings the rows to what they were before, wherever they are already what they will be
 */
export function migrationText(title: string, changes: readonly Changes[], isAgain = false): string {
  const back = changes.map(({ table, before, after }) => ({ table, before: after, after: before }));
  const [up = '', down = ''] = [changes, back].map((ways) => statements(ways).join('\n'));
  const first = isAgain ? `-- First as it was before\n${down}\n` : '';
  return up && `-- ${title}\n\n-- Up Migration\n\n${first}${up}\n-- Down Migration\n\n${down}`;
}

function statements(changes: readonly Changes[]): string[] {
  const written = changes.flatMap(({ table: { table, key, columns }, after }) => {
    const others = columns.filter((name) => !key.includes(name));
    const assigned = others.map((name) => `${name} = excluded.${name}`).join(', ');
    const action = assigned ? `update set ${assigned}` : 'nothing'; // where the row is there already
    return after.length === 0
      ? []
      : `insert into ${table} (${columns.join(', ')}) values\n${tuples(after, columns)}\non conflict (${key.join(', ')}) do ${action};\n`;
  });
  const removed = changes.toReversed().flatMap(({ table: { table, key }, before, after }) => {
    const stays = new Set(after.map((row) => joined(row, key)));
    const gone = before.filter((row) => !stays.has(joined(row, key)));
    return gone.length === 0
      ? []
      : `delete from ${table} where (${key.join(', ')}) in (values\n${tuples(gone, key)});\n`;
  });
  return [...written, ...removed];
}

function tuples(rows: readonly Row[], columns: readonly string[]): string {
  const constant = (text: Row[string] = '') => (text ? escapeLiteral(String(text)) : 'null');
  return rows
    .map((row) => `  (${columns.map((name) => constant(row[name])).join(', ')})`)
    .join(',\n');
}
