import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import type { Reading } from '../snapshots/followed-snapshot.js';
import { revisionOf } from '../snapshots/read-revision.js';
import { readTransaction } from '../database/read-transaction.js';
import type { Answer } from '../http/answer.js';
import {
  type Horizon,
  readChangedRecords,
  readHorizon,
} from './communication-codes/changed-records.reader.js';
import type { CommunicationCodes } from './communication-codes/communication-codes.js';
import { readCommunicationCodes } from './communication-codes/communication-codes.reader.js';
import { assertSize } from './communication-codes/record-columns.js';
import { type Area, readSupportedValues } from './supported-values/supported-values.reader.js';

/** Everything that the three operations answer, of one revision, in bytes. Never changed: a new one takes its place. */
export interface CodesSnapshot {
  readonly supportedValues: Readonly<Record<Area, Answer>>;
  readonly communicationCodes: CommunicationCodes;
  /** Up to where it saw the communication codes. */
  readonly horizon: Horizon;
}

@Injectable()
export class CodesReader {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** @param former what was read before, on which the reading may build */
  read(former: CodesSnapshot | undefined): Promise<Reading<CodesSnapshot>> {
    return readTransaction(this.dataSource, async (manager) => {
      await lockTables(manager);
      const horizon = await readHorizon(manager);
      const changes = await readChangedRecords(manager, horizon, former?.horizon);
      const communicationCodes =
        former && changes
          ? former.communicationCodes.with(changes)
          : await readCommunicationCodes(manager);
      assertSize(communicationCodes.bytes);
      return {
        revision: revisionOf(horizon),
        value: { supportedValues: await readSupportedValues(manager), communicationCodes, horizon },
      };
    });
  }
}

/** A reader whose snapshot is older than a TRUNCATE or a rewritten table would find it empty, so it takes its snapshot after its locks. */
const lockTables = (manager: EntityManager): Promise<unknown> =>
  manager.query(
    'lock table area_property, code_list_value, communication_code in access share mode',
  );
