import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseClock } from '../database/database-clock.js';
import { DatabaseSessions } from '../database/database-sessions.js';
import { DatabaseStatus } from '../database/database-status.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { PolledSnapshot } from './polled-snapshot.js';
import { SnapshotFollower } from './snapshot-follower.js';
import type { Topic, TopicName } from './topic.js';

/**
 * Follows the database, each topic in a session of its own, so that a revoked key never waits for codes. The start does
 * not wait for it, since the database may be away.
 */
@Injectable()
export class SnapshotsService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly snapshots = new Map<TopicName, PolledSnapshot<unknown>>();
  private readonly followers: Pick<SnapshotFollower<unknown>, 'run'>[] = [];
  private running: readonly Promise<void>[] = [];
  private readonly stopping = new AbortController();

  constructor(
    private readonly sessions: DatabaseSessions,
    private readonly status: DatabaseStatus,
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
  ) {
    metrics.addGauge({
      name: 'snapshot_age_seconds',
      help: 'Since it was confirmed',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const [topic, { content, ageSeconds }] of this.snapshots) {
          if (content) gauge.set({ topic }, ageSeconds);
        }
      },
    });
    metrics.addGauge({
      name: 'served_since_timestamp_seconds',
      help: 'Since when content with the stamp of what is served is served',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const [topic, { servedSinceEpochMs }] of this.snapshots) {
          if (servedSinceEpochMs !== undefined) gauge.set({ topic }, servedSinceEpochMs / 1000);
        }
      },
    });
  }

  /** Registers a topic, whose value is read whenever it changes. Called while the application is created. */
  add<T>(topic: Topic<T>): PolledSnapshot<T> {
    const { sessions, status, clock, metrics, logger } = this;
    const snapshot = new PolledSnapshot<T>();
    const follower = new SnapshotFollower({ topic, snapshot, sessions, status, clock, metrics, logger });
    this.snapshots.set(topic.name, snapshot);
    this.followers.push(follower);
    return snapshot;
  }

  onApplicationBootstrap(): void {
    const { signal } = this.stopping;
    this.running = this.followers.map((follower) => follower.run(signal));
  }

  /** While it drains, a replica still serves committed changes. So they are followed until Nest has closed the port. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }
}
