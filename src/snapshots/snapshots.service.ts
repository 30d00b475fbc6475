import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { DatabaseClock } from '../database/database-clock.js';
import { readTransaction, withSession } from '../database/sessions.js';
import { Availability } from '../telemetry/availability.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics, measureOnScrape } from '../telemetry/metrics.js';
import { Tracing } from '../telemetry/tracing.js';
import { FollowedSnapshot, type Source } from './followed-snapshot.js';
import type { Topic } from './stamp.js';

/** How often the triggers are compared with what they must be. */
const TRIGGERS_MS = 30_000;

/** Follows the topics, each in a session of its own, so that a revoked key never waits for codes. The start does not wait for it, since the database may be away. */
@Injectable()
export class SnapshotsService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly followed = new Map<Topic, FollowedSnapshot<unknown>>();
  private timer: NodeJS.Timeout | undefined;
  /** Of the database. */
  readonly availability = new Availability();

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
    @Inject(LOG) private readonly log: Log,
  ) {
    measureOnScrape(metrics.snapshotAge, () => {
      for (const [topic, { current, age }] of this.followed)
        if (current !== undefined) metrics.snapshotAge.set({ topic }, age);
    });
  }

  /** Registers a value that is read whenever its topic changes. Called while the application is created. */
  follow<T>(topic: Topic, source: Source<T>): FollowedSnapshot<T> {
    const { dataSource, clock, availability, metrics, tracing, log } = this;
    const near = { dataSource, clock, availability, metrics, tracing, log };
    const snapshot = new FollowedSnapshot(topic, source, near);
    this.followed.set(topic, snapshot);
    return snapshot;
  }

  onApplicationBootstrap(): void {
    this.availability.expect();
    for (const topic of ['keys', 'codes'] as const) void this.followed.get(topic)?.follow();
    this.timer = setInterval(() => void this.checkTriggers(), TRIGGERS_MS).unref();
    void this.checkTriggers();
  }

  /** Not before: while it drains, a replica still serves committed changes. */
  onApplicationShutdown(): void {
    clearInterval(this.timer);
    for (const snapshot of this.followed.values()) snapshot.stop();
  }

  /** A trigger that is missing or off leaves changes without a stamp and a record. */
  private async checkTriggers(): Promise<void> {
    const read = (manager: EntityManager): Promise<object[]> =>
      manager.query('select table_name, trigger_name, fault from public.trigger_fault');
    const faults = await withSession(this.dataSource, (manager) =>
      readTransaction(manager, read),
    ).catch(() => undefined); // the database is away: who follows it says so
    if (!faults) return;
    this.metrics.triggerFaults.set(faults.length);
    if (faults.length > 0) this.log.warn({ faults }, 'database: changes are not recorded');
  }
}
