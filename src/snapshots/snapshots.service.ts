import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Connections } from '../database/connections.js';
import { DatabaseClock } from '../database/database-clock.js';
import { Availability } from '../telemetry/availability.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics, measureOnScrape } from '../telemetry/metrics.js';
import { Tracing } from '../telemetry/tracing.js';
import { ChangeWatch } from './change-watch.js';
import type { Topic } from './content-identity.js';
import { FollowedSnapshot, type Source } from './followed-snapshot.js';

/** Keeps values in memory equal to the database. The start of the service does not wait for it, since the database may be away. */
@Injectable()
export class SnapshotsService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly followed = new Map<
    Topic,
    Pick<FollowedSnapshot<unknown>, 'announce' | 'stop' | 'measure'>
  >();
  private readonly watch: ChangeWatch;
  /** Of the database. */
  readonly availability = new Availability();

  constructor(
    connections: Connections,
    @InjectDataSource() dataSource: DataSource,
    clock: DatabaseClock,
    @Inject(LOG) private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
  ) {
    this.watch = new ChangeWatch(
      connections,
      dataSource,
      clock,
      (identity, askedAt) => {
        this.availability.answered();
        this.followed.get(identity.topic)?.announce(identity, askedAt);
      },
      () => this.availability.failed(),
      log,
      metrics,
    );
    measureOnScrape(metrics.snapshotAge, () =>
      this.followed.forEach((snapshot) => snapshot.measure()),
    );
  }

  /** Registers a value that is read whenever its topic changes. Called while the application is created. */
  follow<T>(topic: Topic, source: Source<T>): FollowedSnapshot<T> {
    const snapshot = new FollowedSnapshot(topic, source, this.log, this.metrics, this.tracing, () =>
      this.availability.failed(),
    );
    this.followed.set(topic, snapshot);
    return snapshot;
  }

  onApplicationBootstrap(): void {
    this.availability.expect();
    this.watch.start();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const snapshot of this.followed.values()) snapshot.stop();
    await this.watch.stop();
  }
}
