import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { readTransaction } from '../database/read-transaction.js';
import {
  type Horizon,
  readChangedRecords,
  readHorizon,
} from './communication-codes/changed-records.reader.js';
import { readCommunicationCodes } from './communication-codes/communication-codes.reader.js';
import { type CodesChanges, CodesSnapshot } from './codes-snapshot.js';
import type { SupportedValues } from './supported-values/supported-values.js';
import { readSupportedValues } from './supported-values/supported-values.reader.js';

export type CodesReading = {
  readonly horizon: Horizon;
} & ({ readonly changes: CodesChanges } | { readonly everything: CodesSnapshot });

@Injectable()
export class CodesReader {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** @param former up to where it was read before, so that only changes have to be read */
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

/** A reader whose snapshot is older than a TRUNCATE or a rewritten table would find it empty, so it takes its snapshot after its locks. */
const lockTables = (manager: EntityManager): Promise<unknown> =>
  manager.query(
    'lock table area_property, code_list_value, communication_code in access share mode',
  );

async function readEverything(
  manager: EntityManager,
  values: SupportedValues,
): Promise<CodesSnapshot> {
  const [row] = await manager.query<{ moment: number }[]>(
    'select (extract(epoch from now()) * 1000)::float8 as moment',
  );
  const { moment } = row as { moment: number };
  return new CodesSnapshot(moment, await readCommunicationCodes(manager, moment), values);
}
