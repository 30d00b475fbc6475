import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { DatabaseClock } from '../database/database-clock.js';
import { objectFaults } from '../database/objects.js';
import { readTransaction, withSession } from '../database/session.js';
import { Log } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
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
    private readonly log: Log,
  ) {
    const measure = (name: string, help: string, of: (one: PolledSnapshot<unknown>) => number) =>
      metrics.measure([name, help, 'topic'], (gauge) => {
        for (const [topic, one] of this.polled) if (one.servedSince) gauge.set({ topic }, of(one));
      });
    measure('snapshot_age_seconds', 'Since it was confirmed', ({ age }) => age);
    const help = 'When the content that is served was read';
    measure('served_since_timestamp_seconds', help, ({ servedSince = 0 }) => servedSince / 1000);
  }

  /** Registers a value that is read whenever its topic changes. Called while the application is created. */
  poll<T>(topic: Topic, source: Source<T>): PolledSnapshot<T> {
    const { dataSource, clock, metrics, log } = this;
    const snapshot = new PolledSnapshot(topic, source, dataSource, clock, metrics, log);
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
    const line = { faults: faults.map(({ name, fault }) => `${name} ${fault}`) };
    if (faults.length > 0)
      this.log.write('warn', 'database: objects are not what the migrations made', line);
  }
}
