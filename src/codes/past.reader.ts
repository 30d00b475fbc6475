// Reads what was answered at a moment in the past: the present rows, with all later commits undone. This needs the record of changes only from
// that moment on, so deleting old parts of the record loses only the moments of those parts.
import { CodesSnapshot } from './codes-snapshot.js';
import { readCommunicationCodes } from './communication-codes/communication-codes.reader.js';
import { readSupportedValues } from './supported-values/supported-values.js';
import type { Tables, Transaction } from './rows.js';

/** More records than there can be: the past is read in one page, because each page would undo all changes again. */
const EVERYTHING = 1_000_000_000;

/** The snapshot at a moment in the past, in milliseconds since the epoch. */
export async function readPast(transaction: Transaction, moment: number): Promise<CodesSnapshot> {
  const tables: Tables = {
    communicationCode: asOf(moment, 'communication_code', ['code_type', 'code']),
    codeListValue: asOf(moment, 'code_list_value', ['code_list', 'value']),
    areaProperty: asOf(moment, 'area_property', ['area', 'property']),
  };
  const codes = await readCommunicationCodes(transaction, { ...tables, moment, page: EVERYTHING });
  return new CodesSnapshot(moment, codes, await readSupportedValues(transaction, tables));
}

/** When the record of changes begins, in milliseconds since the epoch, or undefined if it is empty. */
export async function beginOfRecord(transaction: Transaction): Promise<number | undefined> {
  const [row] = await transaction.query<{ begin: number | null }[]>(
    'select (extract(epoch from min(committed_at)) * 1000)::float8 as begin from recorded_transaction',
  );
  return row?.begin ?? undefined;
}

/** The tables for which the record may lack changes after a moment. */
export async function gapsSince(transaction: Transaction, moment: number): Promise<string[]> {
  const rows = await transaction.query<{ name: string }[]>(
    `select table_name as name from record_gap where table_name not in ('api_key', 'revision', 'changed_code')
     union
     select h.table_name from history h join recorded_transaction t using (begun_at, transaction_id)
      where h.operation = 'GAP' and h.table_name not in ('api_key', 'revision', 'changed_code') and t.committed_at > $1
     order by 1`,
    [new Date(moment).toISOString()],
  );
  return rows.map(({ name }) => name);
}

/**
 * A subquery for a table as it was at the moment. The former row of a key is the old row of its first later change. Concurrent changes of a
 * key wait for each other, so their numbers have the order of their commits.
 */
function asOf(moment: number, table: string, key: readonly string[]): string {
  const keyOf = (row: string): string => key.map((column) => `${row} ->> '${column}'`).join();
  const columns = key.join();
  return `(
    with later as (
      select h.id, h.old_row, h.new_row from history h join recorded_transaction t using (begun_at, transaction_id)
      where h.table_name = '${table}' and t.committed_at > '${new Date(moment).toISOString()}'
    ), touched (id, side, ${columns}, former) as (
      select id, 0, ${keyOf('old_row')}, old_row from later where old_row is not null
      union all select id, 1, ${keyOf('new_row')}, null from later where new_row is not null
    ), undone as (
      select distinct on (${columns}) ${columns}, former from touched order by ${columns}, id, side
    )
    select present.* from ${table} present where (${columns}) not in (select ${columns} from undone)
    union all select (jsonb_populate_record(null::${table}, former)).* from undone where former is not null
  )`;
}
