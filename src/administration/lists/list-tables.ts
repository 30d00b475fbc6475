import type { Client } from 'pg';
import * as tables from '../../database/tables.js';

/**
 * A row as it stands in a file, in a table or in the record of changes, by column. Null and an empty text are the same.
 * Moments are in UTC; those of files and tables are as short as RFC 3339 permits.
 */
export type Row = Readonly<Record<string, string | number | null>>;

export interface Table {
  readonly name: string;
  readonly key: readonly string[];
  /** All columns, those of the key first. */
  readonly columns: readonly string[];
}

/** A table that is exported to a CSV file and read from one. */
export interface List extends Table {
  readonly fileColumns: readonly string[];
  /** Of the rows `t`, as the answers have them. A name without `t.` would be that of a text in the result. */
  readonly order: string;
}

const columnsOf = ({ columns }: tables.Table): string[] => columns.map(({ name }) => name);

export const MOMENTS: readonly string[] = tables.COMMUNICATION_CODE.columns
  .filter(({ type }) => type === 'timestamptz')
  .map(({ name }) => name);

export const COMMUNICATION_CODES: List = {
  ...tables.COMMUNICATION_CODE,
  columns: columnsOf(tables.COMMUNICATION_CODE),
  fileColumns: columnsOf(tables.COMMUNICATION_CODE),
  order: tables.COMMUNICATION_CODE.order.map((column) => `t.${column}`).join(', '),
};

/** A file has no positions: the order of its lines is the order of the values. */
export const CODE_LISTS: List = {
  ...tables.CODE_LIST_VALUE,
  columns: columnsOf(tables.CODE_LIST_VALUE),
  fileColumns: columnsOf(tables.CODE_LIST_VALUE).filter((column) => column !== 'position'),
  // First the lists of order-update, then those of order-capture-v2 alone, then those of no area
  order: `(
      select min(array[(p.area <> 'order-update')::int, p.position])
      from public.area_property p where p.code_list = t.code_list
    ), t.code_list, t.position`,
};

/** By the words of the command line. */
export const LISTS: Readonly<Record<string, List>> = {
  'communication-codes': COMMUNICATION_CODES,
  'code-lists': CODE_LISTS,
};

export function keyOf(table: Table, row: Row): string {
  return textOf(row, table.key);
}

/** The fields of some columns as one text. No field holds U+0000. */
export function textOf(row: Row, columns: readonly string[]): string {
  return columns.map((column) => row[column] ?? '').join('\0');
}

/** All rows, in the order of the answers. */
export async function readRows(client: Client, list: List): Promise<Row[]> {
  const columns = list.columns.map(columnAsText);
  const query = `select ${columns.join(', ')} from public.${list.name} t order by ${list.order}`;
  const { rows } = await client.query<Row>(query);
  return rows;
}

function columnAsText(column: string): string {
  if (!MOMENTS.includes(column)) return `t.${column}::text as ${column}`;
  return `coalesce(to_jsonb(t.${column} at time zone 'UTC') #>> '{}' || 'Z', '') as ${column}`;
}
