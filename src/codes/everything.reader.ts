import { readCommunicationCodes } from './communication-codes/communication-codes.reader.js';
import { CodesSnapshot } from './codes-snapshot.js';
import { PRESENT, type Transaction } from './rows.js';
import type { SupportedValues } from './supported-values/supported-values.js';

/** A snapshot that is older than a TRUNCATE or a rewrite of a table would see the table empty. So the locks are taken before the snapshot. */
export const lockTables = (transaction: Transaction): Promise<unknown> =>
  transaction.query(
    'lock table area_property, code_list_value, communication_code in access share mode',
  );

/** The codes in force when the transaction began, and those that begin later. */
export async function readEverything(
  transaction: Transaction,
  values: SupportedValues,
): Promise<CodesSnapshot> {
  const moment = await timeOf(transaction);
  const source = { ...PRESENT, moment };
  return new CodesSnapshot(moment, await readCommunicationCodes(transaction, source), values);
}

/** The start of the transaction by the database's clock, in milliseconds since the epoch. */
export async function timeOf(transaction: Transaction): Promise<number> {
  const [row] = await transaction.query<{ time: number }[]>(
    'select (extract(epoch from now()) * 1000)::float8 as time',
  );
  if (!row) throw new Error('the clock of the database cannot be read');
  return row.time;
}
