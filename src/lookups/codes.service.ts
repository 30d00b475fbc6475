import { Injectable } from '@nestjs/common';
import { DatabaseClock } from '../database/database-clock.js';
import type { Answer } from '../http/answer.js';
import { Problem, retryAfter } from '../problems/problem.js';
import type { PolledSnapshot } from '../snapshots/polled-snapshot.js';
import { SnapshotsService } from '../snapshots/snapshots.service.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import type { Area, CodeRecord, CodeRows } from './code-rows.js';
import { CodesSnapshot } from './codes-snapshot.js';
import type { Filters } from './filters.js';
import { lockTables, readCodes } from './read-codes.js';

/** The current codes. Each call uses one snapshot. */
@Injectable()
export class CodesService {
  readonly snapshot: PolledSnapshot<CodesSnapshot>;

  constructor(
    private readonly clock: DatabaseClock,
    snapshots: SnapshotsService,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
  ) {
    this.snapshot = snapshots.poll('codes', {
      lock: lockTables,
      read: async (manager) => new CodesSnapshot(await readCodes(manager), clock.now()).prepare(),
      isEqual: (one, other) => isEqual(one.rows, other.rows),
      checked: () => this.present()?.prepare(), // nobody has to wait for the answers of a new moment
    });
    metrics.addGauge({
      name: 'communication_codes',
      help: 'Communication codes served',
      collect: (gauge) => gauge.set(this.snapshot.current?.rows.records.length ?? 0),
    });
    metrics.addGauge({
      name: 'next_moment_timestamp_seconds',
      help: 'Next change by time, or 0',
      collect: (gauge) => {
        const until = this.present()?.until ?? Infinity;
        gauge.set(until < Infinity ? until / 1000 : 0);
      },
    });
  }

  supportedValues(area: Area): Answer {
    return this.presentOrThrow().supportedValues(area);
  }

  communicationCodes(filters: Filters): Answer | Promise<Answer> {
    return this.presentOrThrow().communicationCodes(filters);
  }

  /** Why nothing can be answered now, or undefined. */
  get obstacle(): string | undefined {
    if (this.snapshot.current) return undefined;
    return this.refusal ?? 'The codes have not been read from the database yet.';
  }

  /** Why the content of the database is not served, or undefined. */
  get refusal(): string | undefined {
    const { refused } = this.snapshot;
    return refused && `The codes in the database cannot be served: ${refused.reason}.`;
  }

  /** @throws Problem not-ready before the first reading */
  private presentOrThrow(): CodesSnapshot {
    const present = this.present();
    if (!present)
      throw new Problem('not-ready', { detail: this.obstacle ?? '', headers: retryAfter(2) });
    return present;
  }

  /** The snapshot of the present moment. Each access looks at the clock, so no answer is of the wrong side of a moment. */
  present(): CodesSnapshot | undefined {
    const { current } = this.snapshot;
    if (!current) return undefined;
    const present = current.at(this.clock.now()); // earlier where the clock was set back
    if (present === current) return present;
    this.snapshot.current = present;
    this.metrics.momentsSwitched.inc();
    const next = present.until < Infinity ? new Date(present.until).toISOString() : undefined;
    this.logger.log({ message: 'codes: a moment has come', next });
    return present;
  }
}

/** By their texts: rows from LAST_GOOD_FILE are no entities. */
const listsOf = ({ properties, values }: CodeRows): string => JSON.stringify([properties, values]);

const isEqual = (one: CodeRows, other: CodeRows): boolean =>
  listsOf(one) === listsOf(other) &&
  one.records.length === other.records.length &&
  one.records.every(({ json, validity: { validFrom, validUntil } }, at) => {
    const { json: text, validity } = other.records[at] as CodeRecord;
    return json === text && validFrom === validity.validFrom && validUntil === validity.validUntil;
  });
