// Keeps a value in memory equal to the database. It promises: a committed change is served within a second, wholly; what cannot be read or
// served leaves the former value in place; and nothing is ever waited for longer than a few seconds.
import { setTimeout as pause } from 'node:timers/promises';
import type { QueryResult } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { DatabaseClock } from '../database/database-clock.js';
import { type Session, readTransaction, withSession } from '../database/session.js';
import { messageOf } from '../telemetry/error-message.js';
import type { Metrics } from '../telemetry/metrics.js';
import { RepeatedFailure } from '../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { RefusedSnapshot, type Source, type Topic } from './source.js';

// Both topics, so that no operator is looked up. Nothing in it depends on settings of the role or the database
const STAMPS = `select topic, stamp, extract(epoch from pg_catalog.clock_timestamp()) as time from public.revision`;
/** One round trip, and one transaction behind a pooler. */
const LOOK = `begin isolation level repeatable read, read only, not deferrable; set local statement_timeout = '2s'; ${STAMPS}; commit`;
type Stamps = QueryResult<Record<'topic' | 'stamp' | 'time', string>>;

const EVERY_MS = 250;
/** Everything is read once in this time, less a random part of up to 25 %, so that replicas do it at different times. */
const WHOLE_MS = 10 * 60_000;

export class PolledSnapshot<T> {
  /** The value. Use it once for each request: it may be another one the next time. */
  current: T | undefined;
  /** Why the content of the database is not served, and the stamp of that content. */
  refused: { readonly stamp: string; readonly reason: string } | undefined;
  /** Of the content that `current` was made of. */
  stamp: string | undefined;
  /** That the database named last; empty where it has only failed so far. */
  named: string | undefined;
  /** Whether the value is one that was given to `restore`, and the database has not confirmed it. */
  isRestored = false;
  /** When `current` was read or restored, in milliseconds since the epoch. */
  servedSince: number | undefined;
  private confirmedAt = -Infinity;
  private wholeAt = 0;

  constructor(
    private readonly topic: Topic,
    private readonly source: Source<T>,
    private readonly dataSource: DataSource,
    private readonly clock: DatabaseClock,
    private readonly metrics: Metrics,
    private readonly logger: ServiceLogger,
  ) {}

  /** Seconds since the database last confirmed that the value is the committed one; Infinity without a value. */
  get age(): number {
    return (performance.now() - this.confirmedAt) / 1000;
  }

  /**
   * Serves a value of an earlier process until the first reading, unless the database names another stamp.
   * @param age seconds since the database confirmed it
   */
  restore(value: T, stamp: string, age: number): void {
    if (this.current !== undefined || (this.named || stamp) !== stamp) return;
    [this.current, this.stamp, this.isRestored] = [value, stamp, true];
    this.confirmedAt = performance.now() - age * 1000;
    this.servedSince = Date.now();
  }

  /** Looks at the database four times a second until `signal` is aborted. */
  async poll(signal: AbortSignal): Promise<void> {
    const failure = new RepeatedFailure(this.logger, `database (${this.topic})`);
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await withSession(this.dataSource, (...given) => this.look(startedAt, ...given));
        failure.succeeded();
      } catch (error) {
        if (signal.aborted) return;
        this.metrics.databaseUp.set(0);
        failure.failed(error, this.source.callersRefusedAt?.());
      }
      this.named ??= '';
      await this.source.checked?.();
      const rest = startedAt + EVERY_MS - performance.now();
      await pause(Math.max(0, rest), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async look(startedAt: number, manager: EntityManager, session: Session): Promise<void> {
    const results = (await session.query(LOOK)) as unknown as Stamps[];
    const { stamp, time } = this.rowOf(results[2]);
    this.clock.measured(Number(time) * 1000, startedAt);
    this.metrics.databaseUp.set(1);
    this.named = stamp;
    if (stamp === this.stamp) [this.confirmedAt, this.refused] = [startedAt, undefined];
    else if (this.isRestored) this.current = undefined;
    this.isRestored = false;
    const isKnown = stamp === this.stamp || stamp === this.refused?.stamp;
    if (!isKnown || startedAt >= this.wholeAt) await this.reload(manager, session);
  }

  private rowOf(stamps: Stamps | undefined) {
    const row = stamps?.rows.find(({ topic }) => topic === this.topic);
    if (row) return row;
    throw new Error(`as the owner: insert into public.revision (topic) values ('${this.topic}');`);
  }

  private async reload(manager: EntityManager, session: Session): Promise<void> {
    const { topic, source, current: former, metrics, logger } = this;
    const startedAt = performance.now();
    this.wholeAt = startedAt + WHOLE_MS * (1 - Math.random() / 4);
    let stamp = '';
    try {
      const value = await readTransaction(manager, async () => {
        await source.lock(manager);
        ({ stamp } = this.rowOf(await session.query(STAMPS)));
        return source.read(manager);
      });
      const hasSameStamp = former !== undefined && stamp === this.stamp;
      [this.current, this.stamp, this.refused] = [value, stamp, undefined];
      this.confirmedAt = startedAt;
      metrics.snapshotReloads.inc({ topic, result: 'loaded' });
      const durationMs = Math.round(performance.now() - startedAt);
      logger.log({ message: 'snapshot: loaded', topic, stamp, durationMs });
      if (hasSameStamp && source.isEqual(former, value)) return;
      this.servedSince = Date.now();
      if (!hasSameStamp) return;
      metrics.unrecordedChanges.inc({ topic });
      const message = 'snapshot: a change without a stamp was found, and is served';
      logger.warn({ message, topic });
    } catch (error) {
      const isRefused = error instanceof RefusedSnapshot;
      metrics.snapshotReloads.inc({ topic, result: isRefused ? 'refused' : 'failed' });
      if (!isRefused) throw error;
      await manager.query('rollback');
      this.refused = { stamp, reason: messageOf(error) };
      const message = 'snapshot: refused, the former one stays';
      logger.error({ message, topic, ...this.refused });
    }
  }
}
