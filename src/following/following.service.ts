import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DatabaseSessions } from '../database/database-sessions.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { DatabaseClock } from './database-clock.js';
import { FollowedTopic, type Topic } from './followed-topic.js';

/**
 * Follows the database, each topic in a session of its own, so that a revoked key never waits for codes. The start does
 * not wait for it, since the database may be away.
 */
@Injectable()
export class FollowingService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly topics: FollowedTopic<unknown>[] = [];
  private running: readonly Promise<void>[] = [];
  private readonly stopping = new AbortController();

  constructor(
    private readonly sessions: DatabaseSessions,
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
  ) {
    metrics.addGauge({
      name: 'snapshot_age_seconds',
      help: 'Since it was confirmed',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const { name: topic, value, ageSeconds } of this.topics) {
          if (value !== undefined) gauge.set({ topic }, ageSeconds);
        }
      },
    });
    metrics.addGauge({
      name: 'served_since_timestamp_seconds',
      help: 'Since when content with the revision of what is served is served',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const { name: topic, servedSinceEpochMs } of this.topics) {
          if (servedSinceEpochMs !== undefined) gauge.set({ topic }, servedSinceEpochMs / 1000);
        }
      },
    });
    metrics.addGauge({
      name: 'database_up',
      help: '1 while the database answers',
      collect: (gauge) => {
        // One is enough: the alert on a topic that stands still is about a database that answers the other one
        const isUp = this.topics.some(({ isDatabaseAnswering }) => isDatabaseAnswering);
        gauge.set(isUp ? 1 : 0);
      },
    });
  }

  /**
   * Registers a topic, whose value is read whenever it changes. Called while the application is created: later it would
   * never be read.
   */
  follow<T, Rows>(topic: Topic<T, Rows>): FollowedTopic<T> {
    const { sessions, clock, metrics, logger } = this;
    const followed = new FollowedTopic({ topic, sessions, clock, metrics, logger });
    this.topics.push(followed);
    return followed;
  }

  onApplicationBootstrap(): void {
    this.running = this.topics.map((topic) => topic.run(this.stopping.signal));
  }

  /** While it drains, a replica still serves committed changes. So they are followed until Nest has closed the port. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }
}
