import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DatabaseClock } from '../following/database-clock.js';
import type { FollowedTopic } from '../following/followed-topic.js';
import { FollowingService } from '../following/following.service.js';
import type { Answer } from '../http/answer.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { type Area, CODE_TABLES, type CodeRows, assertServable, isInForce, readRows } from './code-rows.js';
import { CodeIndex, CodesOverTime, type CodesSnapshot, type Filters } from './codes-snapshot.js';

/** Answers the lookups. Each call uses one snapshot, so its answer is of one time and one state of the database. */
@Injectable()
export class CodesService {
  readonly topic: FollowedTopic<CodesOverTime>;

  constructor(
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
    following: FollowingService,
  ) {
    this.topic = following.follow<CodesOverTime, CodeRows>({
      name: 'codes',
      tables: CODE_TABLES,
      read: readRows,
      prepare: (rows) => this.prepare(rows),
      maxAgeSeconds: Infinity,
    });
    metrics.addGauge({
      name: 'communication_codes',
      help: 'Communication codes in force, of those that are served',
      collect: (gauge) => gauge.set(this.countCodesInForce()),
    });
    metrics.addGauge({
      name: 'next_moment_timestamp_seconds',
      help: 'Next change by time, or 0',
      collect: (gauge) => {
        const nextMs = this.topic.value?.index.nextEffectiveTimeMs(this.clock.now()) ?? Infinity;
        gauge.set(nextMs < Infinity ? nextMs / 1000 : 0);
      },
    });
  }

  /** Undefined where nothing can be answered, which `absenceReason` explains. */
  supportedValues(area: Area): Answer | undefined {
    return this.findPresentSnapshot()?.supportedValues(area);
  }

  /** Undefined where nothing can be answered, which `absenceReason` explains. */
  communicationCodes(filters: Filters): Answer | undefined {
    return this.findPresentSnapshot()?.communicationCodes(filters);
  }

  /** Why nothing can be answered now, or undefined. */
  get unavailableReason(): string | undefined {
    return this.topic.value ? undefined : this.absenceReason;
  }

  /** Why there is no answer, where there is none. */
  get absenceReason(): string {
    return this.refusal ?? 'The codes have not been read from the database yet.';
  }

  /** Why what the database holds is not served, or undefined. */
  get refusal(): string | undefined {
    const { refusal } = this.topic;
    return refusal && `The codes in the database cannot be served: ${refusal}.`;
  }

  private countCodesInForce(): number {
    const nowMs = this.clock.now();
    const records = this.topic.value?.index.rows.records ?? [];
    return records.filter((record) => isInForce(record, nowMs)).length;
  }

  /**
   * The snapshot of the present time. Each call looks at the clock, so no answer is of another time. Where a code has
   * begun or ended since the last call, a new snapshot takes the place of the former one.
   */
  private findPresentSnapshot(): CodesSnapshot | undefined {
    const codes = this.topic.value;
    if (!codes) return undefined;
    const former = codes.snapshot;
    const snapshot = codes.snapshotAt(this.clock.now());
    if (former && snapshot !== former) this.noteSwitch(snapshot);
    return snapshot;
  }

  private noteSwitch({ untilMs }: CodesSnapshot): void {
    this.metrics.momentsSwitched.inc();
    const next = untilMs < Infinity ? new Date(untilMs).toISOString() : undefined;
    this.logger.log({ message: 'codes: an effective time has come', next });
  }

  /**
   * Requests have their turn between the steps, each of which takes long where codes are many.
   * @throws RefusedContent if the rows cannot be served
   */
  private async prepare(rows: CodeRows): Promise<CodesOverTime> {
    assertServable(rows);
    await nextTurn();
    const index = new CodeIndex(rows);
    await nextTurn();
    const codes = new CodesOverTime(index);
    codes.snapshotAt(this.clock.now());
    return codes;
  }
}
