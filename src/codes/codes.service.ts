import { Inject, Injectable } from '@nestjs/common';
import { FollowedSnapshot } from '../snapshots/followed-snapshot.js';
import type { Answer } from '../http/answer.js';
import { Problem } from '../problems/problem.js';
import { retryAfter } from '../problems/retry-after.js';
import { LOG, type Log } from '../telemetry/log.js';
import { type CodesSnapshot, CodesReader } from './codes.reader.js';
import type { Filters } from './communication-codes/communication-codes.js';
import type { Area } from './supported-values/supported-values.reader.js';

/** The codes as they are now. Each call works with one snapshot from start to end. */
@Injectable()
export class CodesService {
  readonly followed: FollowedSnapshot<CodesSnapshot>;

  constructor(reader: CodesReader, @Inject(LOG) log: Log) {
    this.followed = new FollowedSnapshot('codes', (former) => reader.read(former), log);
  }

  supportedValues(area: Area): Answer {
    return this.snapshot.supportedValues[area];
  }

  communicationCodes(filters: Filters): Answer | Promise<Answer> {
    return this.snapshot.communicationCodes.find(filters);
  }

  private get snapshot(): CodesSnapshot {
    const { current } = this.followed;
    if (!current)
      throw new Problem('not-ready', {
        detail: 'The codes have not been read from the database yet.',
        headers: retryAfter(2),
      });
    return current;
  }
}
