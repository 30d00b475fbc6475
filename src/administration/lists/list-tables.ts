import { stringify } from 'csv-stringify/sync';
import type { Client } from 'pg';

/** A row as it stands in a file: null is empty. Moments are as short as RFC 3339 permits, in UTC. */
export type Row = Readonly<Record<string, string>>;

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
    order: 't.code_type, t.code',
  },
  'code-lists': {
    table: 'code_list_value',
    key: ['code_list', 'value'],
    columns: ['code_list', 'value', 'position', ...MOMENTS],
    // As the answers have them: those of order-update, those of order-capture-v2 alone, those of no area
    order: `coalesce((select min(case p.area when 'order-update' then 0 else 1000 end + p.position)
      from public.area_property p where p.code_list = t.code_list), 1000000), t.code_list, t.position`,
  },
} satisfies Record<string, Table>;

export const keyOf = ({ key }: Table, row: Row): string => key.map((name) => row[name]).join('\0');

/** All rows, in the order of the answers. */
export async function readRows(client: Client, list: Table): Promise<Row[]> {
  const columns = list.columns.map((name) =>
    MOMENTS.includes(name)
      ? `coalesce(regexp_replace(to_char(t.${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '\\.?0*$', 'Z'), '') as ${name}`
      : `t.${name}::text`,
  );
  const { rows } = await client.query<Row>(
    `select ${columns.join(', ')} from public.${list.table} t order by ${list.order ?? list.key.join(', ')}`,
  );
  return rows;
}

/** CSV by RFC 4180, with a header. */
export const toCsv = ({ columns }: Table, rows: readonly Row[], delimiter = ','): string =>
  stringify([...rows], { columns, header: true, record_delimiter: 'windows', delimiter });
