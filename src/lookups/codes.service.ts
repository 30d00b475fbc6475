import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { DatabaseClock } from '../database/database-clock.js';
import type { Answer } from '../http/answer.js';
import { Problem, retryAfter } from '../problems/problem.js';
import type { PolledSnapshot } from '../snapshots/polled-snapshot.js';
import { SnapshotsService } from '../snapshots/snapshots.service.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { CodeIndex } from './code-index.js';
import type { Area, CodeRows } from './code-rows.js';
import { codeRowsFromJson, codeRowsToJson } from './code-rows-json.js';
import type { CodesSnapshot } from './codes-snapshot.js';
import { Codes } from './codes.js';
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
      toJson: ({ index }) => codeRowsToJson(index.rows),
      fromJson: (json) => new Codes(new CodeIndex(codeRowsFromJson(json)), clock.now()),
    });
    metrics.addGauge({
      name: 'communication_codes',
      help: 'Communication codes served',
      collect: (gauge) => gauge.set(this.rows?.records.length ?? 0),
    });
    metrics.addGauge({
      name: 'next_moment_timestamp_seconds',
      help: 'Next change by time, or 0',
      collect: (gauge) => {
        const untilMs = this.present()?.untilMs ?? Infinity;
        gauge.set(untilMs < Infinity ? untilMs / 1000 : 0);
      },
    });
  }

  supportedValues(area: Area): Answer {
    return this.presentOrThrow().supportedValues(area);
  }

  communicationCodes(filters: Filters): Answer {
    return this.presentOrThrow().communicationCodes(filters);
  }

  /** Of all moments; undefined before the first reading. */
  get rows(): CodeRows | undefined {
    return this.polled.value?.index.rows;
  }

  /** Why nothing can be answered now, or undefined. */
  get obstacle(): string | undefined {
    if (this.polled.value) return undefined;
    return this.refusal ?? 'The codes have not been read from the database yet.';
  }

  /** Why the content of the database is not served, or undefined. */
  get refusal(): string | undefined {
    const { refusalReason } = this.polled;
    if (refusalReason === undefined) return undefined;
    return `The codes in the database cannot be served: ${refusalReason}.`;
  }

  /** The snapshot of the present moment. Each call looks at the clock, so no answer is of another moment. */
  present(): CodesSnapshot | undefined {
    const codes = this.polled.value;
    if (!codes) return undefined;
    const nowMs = this.clock.now();
    if (codes.snapshot.holdsAt(nowMs)) return codes.snapshot;
    const snapshot = codes.switchTo(nowMs);
    this.metrics.momentsSwitched.inc();
    const { untilMs } = snapshot;
    const next = untilMs < Infinity ? new Date(untilMs).toISOString() : undefined;
    this.logger.log({ message: 'codes: a moment has come', next });
    return snapshot;
  }

  /** @throws Problem not-ready before the first reading */
  private presentOrThrow(): CodesSnapshot {
    const snapshot = this.present();
    if (snapshot) return snapshot;
    throw new Problem('not-ready', {
      detail: this.obstacle ?? '',
      headers: { 'Retry-After': retryAfter(2) },
    });
  }

  /** Requests have their turn between the steps, each of which takes long where codes are many. */
  private async read(manager: EntityManager): Promise<Codes> {
    const rows = await readCodes(manager);
    await nextTurn();
    const index = new CodeIndex(rows);
    await nextTurn();
    return new Codes(index, this.clock.now());
  }
}
