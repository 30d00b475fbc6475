import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { Reading } from '../database/followed.js';
import { readRevision } from '../database/read-revision.js';
import { readTransaction } from '../database/read-transaction.js';
import type { Answer } from '../http/answer.js';
import type { CommunicationCodes } from './communication-codes.js';
import { readCommunicationCodes } from './communication-codes.reader.js';
import { type Area, readSupportedValues } from './supported-values.reader.js';

/** Everything that the three operations answer, of one revision, in bytes. Never changed: a new one takes its place. */
export interface CodesSnapshot {
  readonly supportedValues: Readonly<Record<Area, Answer>>;
  readonly communicationCodes: CommunicationCodes;
}

@Injectable()
export class CodesReader {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  read(): Promise<Reading<CodesSnapshot>> {
    return readTransaction(this.dataSource, async (manager) => ({
      revision: await readRevision(manager, 'codes'),
      value: { supportedValues: await readSupportedValues(manager), communicationCodes: await readCommunicationCodes(manager) },
    }));
  }
}
