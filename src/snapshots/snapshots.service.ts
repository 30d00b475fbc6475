import {
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DatabaseClock } from '../database/database-clock.js';
import { DatabaseSessions } from '../database/database-sessions.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { LastGoodFolder } from './last-good-folder.js';
import { LastGoodTopic } from './last-good-topic.js';
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
  private readonly followers: Pick<SnapshotFollower<unknown>, 'follow' | 'keep'>[] = [];
  private readonly stopping = new AbortController();

  // oxlint-disable-next-line eslint/max-params -- Nest injects each provider as a parameter
  constructor(
    private readonly sessions: DatabaseSessions,
    private readonly clock: DatabaseClock,
    private readonly folder: LastGoodFolder,
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
      help: 'When the content that is served was read',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const [topic, { servedSinceMs }] of this.snapshots) {
          if (servedSinceMs !== undefined) gauge.set({ topic }, servedSinceMs / 1000);
        }
      },
    });
  }

  /** Registers a topic, whose value is read whenever it changes. Called while the application is created. */
  add<T>(topic: Topic<T>): PolledSnapshot<T> {
    const { sessions, clock, folder, metrics, logger } = this;
    const snapshot = new PolledSnapshot<T>();
    const lastGood = new LastGoodTopic({ topic, folder, sessions, clock });
    const follower = new SnapshotFollower({
      topic,
      snapshot,
      lastGood,
      sessions,
      clock,
      metrics,
      logger,
    });
    this.snapshots.set(topic.name, snapshot);
    this.followers.push(follower);
    return snapshot;
  }

  onApplicationBootstrap(): void {
    for (const follower of this.followers) {
      void follower.follow(this.stopping.signal);
      if (this.folder.isOn) void follower.keep(this.stopping.signal);
    }
  }

  /** Not before: while it drains, a replica still serves committed changes. */
  onApplicationShutdown(): void {
    this.stopping.abort();
  }
}
