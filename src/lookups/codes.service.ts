import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DatabaseClock } from '../following/database-clock.js';
import type { FollowedTopic } from '../following/followed-topic.js';
import { FollowingService } from '../following/following.service.js';
import type { Answer } from '../http/answer.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { type Area, CODE_TABLES, type CodeRows, assertAreas, isInForce, readCodes } from './code-rows.js';
import { CodeIndex, type CodesSnapshot, type Filters } from './codes-snapshot.js';

/** Answers the lookups. Each call uses one snapshot, so its answer shows one time and one state of the database. */
@Injectable()
export class CodesService {
  /** The sentence that callers get if there is no answer. */
  readonly absenceReason = 'The codes have not been read from the database yet.';
  readonly topic: FollowedTopic<CodeIndex>;

  constructor(
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
    following: FollowingService,
  ) {
    this.topic = following.follow<CodeIndex, CodeRows>({
      name: 'codes',
      tables: CODE_TABLES,
      read: readCodes,
      prepare: (rows) => this.prepare(rows),
      maxAgeSeconds: Infinity,
    });
    metrics.addGauge({
      name: 'communication_codes',
      help: 'Communication codes in force',
      collect: (gauge) => gauge.set(this.countCodesInForce()),
    });
    metrics.addGauge({
      name: 'next_moment_timestamp_seconds', // "moment" is an old word for an effective time
      help: 'The next time at which a code begins or ends; 0 if there is none',
      collect: (gauge) => {
        const nextMs = this.topic.value?.findNextEffectiveTimeMs(this.clock.now()) ?? Infinity;
        gauge.set(nextMs < Infinity ? nextMs / 1000 : 0);
      },
    });
  }

  getSupportedValues(area: Area): Answer | undefined {
    return this.findPresentSnapshot()?.getSupportedValues(area);
  }

  getCommunicationCodes(filters: Filters): Answer | undefined {
    return this.findPresentSnapshot()?.getCommunicationCodes(filters);
  }

  get unavailableReason(): string | undefined {
    const { value, failureReason } = this.topic;
    if (value) return undefined;
    return failureReason === undefined ? this.absenceReason : `${this.absenceReason} Last attempt: ${failureReason}`;
  }

  private countCodesInForce(): number {
    const nowMs = this.clock.now();
    const records = this.topic.value?.rows.records ?? [];
    return records.filter((record) => isInForce(record, nowMs)).length;
  }

  /** Returns the snapshot for now. If a code has begun or ended since the last call, the snapshot is a new one. */
  private findPresentSnapshot(): CodesSnapshot | undefined {
    const index = this.topic.value;
    if (!index) return undefined;
    const former = index.snapshot;
    const snapshot = index.getSnapshot(this.clock.now());
    if (former && snapshot !== former) this.noteSwitch(snapshot);
    return snapshot;
  }

  private noteSwitch({ untilMs }: CodesSnapshot): void {
    this.metrics.effectiveTimesPassed.inc();
    const next = untilMs < Infinity ? new Date(untilMs).toISOString() : undefined;
    this.logger.log({ message: 'codes: an effective time has come', next });
  }

  /** @throws Error if an area has no property */
  private async prepare(rows: CodeRows): Promise<CodeIndex> {
    assertAreas(rows);
    const index = new CodeIndex(rows);
    await nextTurn(); // with many codes both steps take long, so Node.js answers other requests between them
    index.getSnapshot(this.clock.now()); // makes the first snapshot, so that no request waits for it
    return index;
  }
}
