import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from '../database/database.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { DatabaseClock } from './database-clock.js';
import { FollowedTopic, type Topic } from './followed-topic.js';

/**
 * Follows the database. Each topic polls in its own session: if the keys waited for a long reading of the codes, a
 * revoked key would be accepted longer. The start of the service does not wait for the first reading.
 */
@Injectable()
export class FollowingService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly topics: FollowedTopic<unknown>[] = [];
  private running: readonly Promise<void>[] = [];
  private readonly stopping = new AbortController();

  constructor(
    private readonly database: Database,
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
  ) {
    metrics.addGauge({
      name: 'snapshot_age_seconds',
      help: 'Seconds since the database last confirmed the revision that is served',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const { name: topic, value, ageSeconds } of this.topics) {
          if (value !== undefined) gauge.set({ topic }, ageSeconds);
        }
      },
    });
    metrics.addGauge({
      name: 'served_since_timestamp_seconds',
      help: 'When this process began to serve the present revision',
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
        // One topic that gets answers is enough: the alert SnapshotStale reports a topic that gets none
        const isUp = this.topics.some(({ isDatabaseAnswering }) => isDatabaseAnswering);
        gauge.set(isUp ? 1 : 0);
      },
    });
  }

  /** Registers a topic. Call `follow` in a constructor: a topic that is registered after the start is never read. */
  follow<T, Rows>(topic: Topic<T, Rows>): FollowedTopic<T> {
    const { database, clock, metrics, logger } = this;
    const followed = new FollowedTopic({ topic, database, clock, metrics, logger });
    this.topics.push(followed);
    return followed;
  }

  onApplicationBootstrap(): void {
    this.running = this.topics.map((topic) => topic.run(this.stopping.signal));
  }

  /** Ends the polls. Nest calls this after the last HTTP connection has ended. Until then, changes are still served. */
  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }
}
