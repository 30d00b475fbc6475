import { stringify } from 'csv-stringify/sync';
import type { Client } from 'pg';
import { type ListTable, MOMENTS, readRows, shownMoment } from './list-tables.js';

/** The table as CSV (RFC 4180), in the order of the answers. */
export async function exportList(client: Client, list: ListTable): Promise<string> {
  const rows = await readRows(client, list);
  return stringify(
    rows.map((row) =>
      list.columns.map((name) =>
        MOMENTS.includes(name) ? shownMoment(row[name] ?? '') : row[name],
      ),
    ),
    { header: true, columns: [...list.columns], record_delimiter: 'windows' },
  );
}
