import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DatabaseClock } from '../database/database-clock.js';
import type { Answer } from '../http/answer.js';
import { Problem, retryAfter } from '../problems/problem.js';
import type { PolledSnapshot } from '../snapshots/polled-snapshot.js';
import { SnapshotsService } from '../snapshots/snapshots.service.js';
import type { ReadResult } from '../snapshots/topic.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { CodeIndex } from './code-index.js';
import { type Area, type CodeRows, UnservableRows, isInForce } from './code-rows.js';
import type { CodesSnapshot } from './codes-snapshot.js';
import { Codes } from './codes.js';
import { areRowsEqual } from './equal-rows.js';
import type { Filters } from './filters.js';
import { lockTables, readCodes } from './read-codes.js';

/** Answers the lookups. Each call uses one snapshot, so its answer is of one moment and one state of the database. */
@Injectable()
export class CodesService {
  readonly polled: PolledSnapshot<Codes>;

  constructor(
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
    snapshots: SnapshotsService,
  ) {
    this.polled = snapshots.add<Codes>({
      name: 'codes',
      maxAgeSeconds: Infinity,
      lock: lockTables,
      read: (manager) => this.read(manager),
    });
    metrics.addGauge({
      name: 'communication_codes',
      help: 'Communication codes in force, of those that are served',
      collect: (gauge) => gauge.set(this.countOfCodesInForce),
    });
    metrics.addGauge({
      name: 'next_moment_timestamp_seconds',
      help: 'Next change by time, or 0',
      collect: (gauge) => {
        const { nextMomentMs } = this;
        gauge.set(nextMomentMs < Infinity ? nextMomentMs / 1000 : 0);
      },
    });
  }

  supportedValues(area: Area): Answer {
    return this.presentSnapshot().supportedValues(area);
  }

  communicationCodes(filters: Filters): Answer {
    return this.presentSnapshot().communicationCodes(filters);
  }

  /** Of all moments; undefined before the first reading. */
  get rows(): CodeRows | undefined {
    return this.polled.value?.index.rows;
  }

  /** When a code begins or ends next, in milliseconds since the epoch; Infinity if none does. */
  get nextMomentMs(): number {
    return this.polled.value?.index.nextMomentMs(this.clock.now()) ?? Infinity;
  }

  /** Why nothing can be answered now, or undefined. */
  get unavailableReason(): string | undefined {
    if (this.polled.value) return undefined;
    return this.unservableReason ?? 'The codes have not been read from the database yet.';
  }

  /** Why the content of the database is not served, or undefined. */
  get unservableReason(): string | undefined {
    const { unservable } = this.polled;
    return unservable && `The codes in the database cannot be served: ${unservable.reason}.`;
  }

  private get countOfCodesInForce(): number {
    const nowMs = this.clock.now();
    const records = this.rows?.records ?? [];
    return records.filter((record) => isInForce(record, nowMs)).length;
  }

  /**
   * The snapshot of the present moment. Each call looks at the clock, so no answer is of another moment. Where a code
   * has begun or ended since the last call, a new snapshot takes the place of the former one.
   * @throws Problem not-ready before the first reading
   */
  private presentSnapshot(): CodesSnapshot {
    const codes = this.polled.value;
    if (!codes) {
      const detail = this.unavailableReason ?? '';
      throw new Problem('not-ready', { detail, headers: { 'Retry-After': retryAfter(2) } });
    }
    const former = codes.snapshot;
    const snapshot = codes.snapshotAt(this.clock.now());
    if (former && snapshot !== former) this.momentHasCome(snapshot);
    return snapshot;
  }

  private momentHasCome({ untilMs }: CodesSnapshot): void {
    this.metrics.momentsSwitched.inc();
    const next = untilMs < Infinity ? new Date(untilMs).toISOString() : undefined;
    this.logger.log({ message: 'codes: a moment has come', next });
  }

  private async read(manager: EntityManager): Promise<ReadResult<Codes>> {
    try {
      const rows = await readCodes(manager);
      const value = (await this.servedIfEqual(rows)) ?? (await this.prepare(rows));
      return { isServable: true, value };
    } catch (error) {
      if (!(error instanceof UnservableRows)) throw error;
      return { isServable: false, reason: error.message };
    }
  }

  /**
   * What is served, if it is made of the same rows. Everything is read every ten minutes: where nothing has changed,
   * the answers are not made again.
   */
  private async servedIfEqual(rows: CodeRows): Promise<Codes | undefined> {
    const served = this.polled.value;
    if (!served) return undefined;
    const isEqual = await areRowsEqual(served.index.rows, rows);
    return isEqual ? served : undefined;
  }

  /** Requests have their turn between the steps, each of which takes long where codes are many. */
  private async prepare(rows: CodeRows): Promise<Codes> {
    await nextTurn();
    const index = new CodeIndex(rows);
    await nextTurn();
    const codes = new Codes(index);
    codes.snapshotAt(this.clock.now());
    return codes;
  }
}
