import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { readTransaction } from '../database/read-transaction.js';
import {
  type Horizon,
  readChangedRecords,
  readHorizon,
} from './communication-codes/changed-records.reader.js';
import type { CodesChanges, CodesSnapshot } from './codes-snapshot.js';
import { lockTables, readEverything } from './everything.reader.js';
import { readSupportedValues } from './supported-values/supported-values.js';

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
