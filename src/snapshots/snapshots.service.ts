import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { DatabaseClock } from '../database/database-clock.js';
import { objectFaults } from '../database/objects.js';
import { readTransaction, withSession } from '../database/session.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { PolledSnapshot } from './polled-snapshot.js';
import type { Source, Topic } from './source.js';

/** How often the objects of the database are compared with what the migrations made. */
const OBJECTS_MS = 60_000;

/** Polls the topics, each in a session of its own, so that a revoked key never waits for codes. The start does not wait for it, since the database may be away. */
@Injectable()
export class SnapshotsService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly polled = new Map<Topic, PolledSnapshot<unknown>>();
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
  ) {
    metrics.addGauge({
      name: 'snapshot_age_seconds',
      help: 'Since it was confirmed',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const [topic, { servedSince, age }] of this.polled) {
          if (servedSince !== undefined) gauge.set({ topic }, age);
        }
      },
    });
    metrics.addGauge({
      name: 'served_since_timestamp_seconds',
      help: 'When the content that is served was read',
      labelNames: ['topic'],
      collect: (gauge) => {
        for (const [topic, { servedSince }] of this.polled) {
          if (servedSince !== undefined) gauge.set({ topic }, servedSince / 1000);
        }
      },
    });
  }

  /** Registers a value that is read whenever its topic changes. Called while the application is created. */
  poll<T>(topic: Topic, source: Source<T>): PolledSnapshot<T> {
    const { dataSource, clock, metrics, logger } = this;
    const snapshot = new PolledSnapshot(topic, source, dataSource, clock, metrics, logger);
    this.polled.set(topic, snapshot);
    return snapshot;
  }

  onApplicationBootstrap(): void {
    for (const topic of ['keys', 'codes'] as const)
      void this.polled.get(topic)?.poll(this.stopping.signal);
    this.timer = setInterval(() => void this.checkObjects(), OBJECTS_MS).unref();
    void this.checkObjects();
  }

  /** Not before: while it drains, a replica still serves committed changes. */
  onApplicationShutdown(): void {
    clearInterval(this.timer);
    this.stopping.abort();
  }

  /** A trigger that is missing or off, for example, leaves changes without a stamp and a record. */
  private async checkObjects(): Promise<void> {
    const faults = await withSession(this.dataSource, (manager, session) =>
      readTransaction(manager, () => objectFaults(session)),
    ).catch(() => undefined); // the database is away: the poll logs it
    if (!faults) return;
    this.metrics.triggerFaults.set(faults.length);
    if (faults.length === 0) return;
    this.logger.warn({
      message: 'database: objects are not what the migrations made',
      faults: faults.map(({ name, fault }) => `${name} ${fault}`),
    });
  }
}
