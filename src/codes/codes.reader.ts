import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { readTransaction } from '../database/read-transaction.js';
import {
  type Horizon,
  readChangedRecords,
  readHorizon,
} from './communication-codes/changed-records.reader.js';
import { type CodesChanges, CodesSnapshot } from './codes-snapshot.js';
import { readCommunicationCodes } from './communication-codes/communication-codes.reader.js';
import { PRESENT, type Transaction } from './rows.js';
import { type SupportedValues, readSupportedValues } from './supported-values/supported-values.js';

export type CodesReading = {
  readonly horizon: Horizon;
} & ({ readonly changes: CodesChanges } | { readonly everything: CodesSnapshot });

@Injectable()
export class CodesReader {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** @param former the horizon of the former reading, so that only changes have to be read */
  read(former: Horizon | undefined): Promise<CodesReading> {
    return readTransaction(this.dataSource, async (manager) => {
      await lockTables(manager);
      const horizon = await readHorizon(manager);
      const records = await readChangedRecords(manager, horizon, former);
      const values = await readSupportedValues(manager);
      return former && records
        ? { horizon, changes: { records, values } }
        : { horizon, everything: await readEverything(manager, values) };
    });
  }
}

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
