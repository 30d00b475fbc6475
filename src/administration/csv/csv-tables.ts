// The tables that `codes export` writes as CSV files, and whose CSV files `migrate new --from` reads.
import type { Client } from 'pg';
import { CODE_LIST_VALUE, COMMUNICATION_CODE, type Column, type Table } from '../../database/tables.js';

/**
 * The fields of a row by column. An empty text stands for null. A time is in UTC and as short as possible, such as
 * 2027-01-01T00:00:00.5Z. Rows are compared as texts, so the same time in another form would look like a change.
 */
export type Row = Readonly<Record<string, string>>;

/** The tables by their names on the command line. */
export const CSV_TABLES = { 'communication-codes': COMMUNICATION_CODE, 'code-lists': CODE_LIST_VALUE } as const;

/** The only column that CSV files lack. In a CSV file, the order of the lines is the order of the values. */
export const POSITION = 'position';

export function isTime({ type }: Column): boolean {
  return type === 'timestamptz';
}

export function listFileColumns({ columns }: Table): Column[] {
  return columns.filter(({ name }) => name !== POSITION);
}

/** Returns the fields of some columns as one text. U+0000 separates them, because no field contains it. */
export function joinFields(row: Row, columns: readonly string[]): string {
  return columns.map((column) => row[column]).join('\0');
}

/** Returns all rows, in the order of the answers. */
export async function readRows(client: Client, { name, columns, order }: Table): Promise<Row[]> {
  const fields = columns.map((column) => `${toText(column)} as ${column.name}`);
  // Without the table's name PostgreSQL would sort by the result's column, which is text: 10 before 9
  const sorting = order.map((column) => `${name}.${column}`);
  const query = `select ${fields.join(', ')} from public.${name} order by ${sorting.join(', ')}`;
  const { rows } = await client.query<Row>(query);
  return rows;
}

/** Returns SQL for a column as text. `to_jsonb` writes a time by ISO 8601, whatever `datestyle` is. */
function toText(column: Column): string {
  const { name } = column;
  const text = isTime(column)
    ? `(pg_catalog.to_jsonb(${name} at time zone 'UTC') #>> '{}'::text[]) || 'Z'::text`
    : `${name}::text`;
  return `coalesce(${text}, '')`;
}
