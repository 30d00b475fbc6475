import { type Client, escapeLiteral } from 'pg';

/** A row as it stands in a file or in the record of changes: null is also empty. Moments are in UTC, those of a file as short as RFC 3339 permits. */
export type Row = Readonly<Record<string, string | number | null>>;

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

type Changes = Readonly<{ table: Table; before: readonly Row[]; after: readonly Row[] }>;

const joined = (row: Row, names: readonly string[]) => names.map((name) => row[name]).join('\0');
export const keyOf = ({ key }: Table, row: Row): string => joined(row, key);

/** The rows that differ from each of the others in these columns. */
function without(rows: readonly Row[], others: readonly Row[], columns: readonly string[]): Row[] {
  const known = new Set(others.map((row) => joined(row, columns)));
  return rows.filter((row) => !known.has(joined(row, columns)));
}

export function compare(table: Table, before: readonly Row[], after: readonly Row[]): Changes {
  const { columns } = table;
  return { table, before: without(before, after, columns), after: without(after, before, columns) };
}

/** All rows, in the order of the answers. */
export async function readRows(client: Client, list: Table): Promise<Row[]> {
  const columns = list.columns.map((name) =>
    MOMENTS.includes(name)
      ? `coalesce(to_jsonb(t.${name} at time zone 'UTC') #>> '{}' || 'Z', '') as ${name}`
      : `t.${name}::text`,
  );
  const order = list.order ?? `t.${list.key.join(', t.')}`;
  const query = `select ${columns.join(', ')} from public.${list.table} t order by ${order}`;
  return (await client.query<Row>(query)).rows;
}

/** A migration with its way back, or nothing if no row differs. Tables that others refer to come first. `isAgain`: it undoes the changes first. */
export function migrationText(title: string, changes: readonly Changes[], isAgain = false): string {
  const back = changes.map(({ table, before, after }) => ({ table, before: after, after: before }));
  const [up = '', down = ''] = [changes, back].map((ways) => [...statements(ways)].join('\n'));
  const first = isAgain ? `-- First as it was before\n${down}\n` : '';
  return up && `-- ${title}\n\n-- Up Migration\n\n${first}${up}\n-- Down Migration\n\n${down}`;
}

function* statements(changes: readonly Changes[]) {
  for (const { table, after } of changes) {
    const { key, columns } = table;
    const assigned = columns.slice(key.length).map((name) => `${name} = excluded.${name}`);
    const action = assigned.length > 0 ? `update set ${assigned.join(', ')}` : 'nothing';
    if (after.length > 0)
      yield `insert into ${table.table} (${columns.join(', ')}) values\n${tuples(after, columns)}\non conflict (${key.join(', ')}) do ${action};\n`;
  }
  for (const { table, before, after } of changes.toReversed()) {
    const gone = without(before, after, table.key);
    if (gone.length > 0)
      yield `delete from ${table.table} where (${table.key.join(', ')}) in (values\n${tuples(gone, table.key)});\n`;
  }
}

function tuples(rows: readonly Row[], columns: readonly string[]): string {
  const constant = (text: Row[string] = '') => (text ? escapeLiteral(String(text)) : 'null');
  const lines = rows.map((row) => `  (${columns.map((name) => constant(row[name])).join(', ')})`);
  return lines.join(',\n');
}
