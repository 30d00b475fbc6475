import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { DatabaseClock } from '../database/database-clock.js';
import { withSession } from '../database/session.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics, measureOnScrape } from '../telemetry/metrics.js';
import { FollowedSnapshot } from './followed-snapshot.js';
import type { Source, Topic } from './source.js';

/** How often the triggers are compared with what they must be. */
const TRIGGERS_MS = 30_000;

/** Follows the topics, each in a session of its own, so that a revoked key never waits for codes. The start does not wait for it, since the database may be away. */
@Injectable()
export class SnapshotsService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly followed = new Map<Topic, FollowedSnapshot<unknown>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @InjectDataSource() readonly dataSource: DataSource,
    readonly clock: DatabaseClock,
    readonly metrics: Metrics,
    @Inject(LOG) readonly log: Log,
  ) {
    measureOnScrape(metrics.snapshotAge, () => {
      for (const [topic, { age }] of this.followed)
        if (age < Infinity) metrics.snapshotAge.set({ topic }, age);
    });
  }

  /** Registers a value that is read whenever its topic changes. Called while the application is created. */
  follow<T>(topic: Topic, source: Source<T>): FollowedSnapshot<T> {
    const snapshot = new FollowedSnapshot(topic, source, this);
    this.followed.set(topic, snapshot);
    return snapshot;
  }

  onApplicationBootstrap(): void {
    for (const topic of ['keys', 'codes'] as const) void this.followed.get(topic)?.follow();
    this.timer = setInterval(() => void this.checkTriggers(), TRIGGERS_MS).unref();
    void this.checkTriggers();
  }

  /** Not before: while it drains, a replica still serves committed changes. */
  onApplicationShutdown(): void {
    clearInterval(this.timer);
    for (const snapshot of this.followed.values()) snapshot.stopping.abort();
  }

  /** A trigger that is missing or off leaves changes without a stamp and a record. */
  private async checkTriggers(): Promise<void> {
    const faults = await withSession(this.dataSource, (manager) =>
      manager.query<object[]>('select * from public.trigger_fault'),
    ).catch(() => undefined); // the database is away: who follows it says so
    if (!faults) return;
    this.metrics.triggerFaults.set(faults.length);
    if (faults.length > 0) this.log.warn({ faults }, 'database: changes are not recorded');
  }
}
