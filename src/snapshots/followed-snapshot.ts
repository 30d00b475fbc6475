// Keeps a value in memory equal to the database. It promises: a committed change is served within a second, wholly; what cannot be read or
// served leaves the former value in place; and nothing is ever waited for longer than a few seconds.
import { setTimeout as pause } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import type { DatabaseClock } from '../database/database-clock.js';
import type { Session } from '../database/session.js';
import { readTransaction, withSession } from '../database/sessions.js';
import type { Availability } from '../telemetry/availability.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { RepeatedFailure } from '../telemetry/repeated-failure.js';
import type { Tracing } from '../telemetry/tracing.js';
import { RefusedSnapshot } from './refused-snapshot.js';
import { type Topic, readStamp } from './stamp.js';

const EVERY_MS = 250;
/** Everything is read once in this time, less a random part of up to a quarter, so that replicas do it at different times. */
const WHOLE_MS = 10 * 60_000;

/** How a topic is read. */
export interface Source<T> {
  /** Locks its tables, as the first query of the transaction. */
  lock(manager: EntityManager): Promise<unknown>;
  /** @throws RefusedSnapshot if the content cannot be served */
  read(manager: EntityManager): Promise<T>;
  /** Whether callers get the same answers from both, now and later. */
  isEqual(one: T, other: T): boolean;
  /** Called after each look at the database, whether it succeeded or not. */
  checked?(): unknown;
}

/** What a followed snapshot needs besides its source. */
export interface Surroundings {
  readonly dataSource: DataSource;
  readonly clock: DatabaseClock;
  readonly availability: Availability;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly log: Log;
}

export class FollowedSnapshot<T> {
  private readonly failure: RepeatedFailure;
  private readonly stopping = new AbortController();
  private session: Session | undefined;
  private value: T | undefined;
  /** Of the content that `value` was read from. Undefined for a restored value. */
  private stamp: string | undefined;
  private refused: { readonly stamp: string; readonly reason: string } | undefined;
  private confirmedAt = -Infinity;
  private wholeAt = 0;

  constructor(
    private readonly topic: Topic,
    private readonly source: Source<T>,
    private readonly near: Surroundings,
  ) {
    this.failure = new RepeatedFailure(near.log, `database (${topic})`);
  }

  /** Use it once for each request: the next call may return another value. */
  get current(): T | undefined {
    return this.value;
  }

  /** Seconds since the database last confirmed that the value is the committed one. */
  get age(): number {
    return this.value === undefined ? Infinity : (performance.now() - this.confirmedAt) / 1000;
  }

  /** Whether the value is one that was given to `restore`. */
  get isRestored(): boolean {
    return this.value !== undefined && this.stamp === undefined;
  }

  /** Why the content of the database is not served, or undefined. */
  get refusal(): string | undefined {
    return this.refused?.reason;
  }

  /**
   * Serves a value of an earlier process until the first reading; nothing happens after that.
   * @param age seconds since the database confirmed it
   */
  restore(value: T, age: number): void {
    if (this.value !== undefined) return;
    this.value = value;
    this.confirmedAt = performance.now() - age * 1000;
  }

  /** Looks at the database four times a second until it is stopped. */
  async follow(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await withSession(
          this.near.dataSource,
          (manager) => this.look(manager, startedAt),
          (session) => (this.session = session),
        );
        this.failure.succeeded();
      } catch (error) {
        if (signal.aborted) return;
        this.near.metrics.databaseUp.set(0);
        this.near.availability.failed();
        this.failure.failed(error);
      }
      await this.source.checked?.();
      const rest = startedAt + EVERY_MS - performance.now();
      await pause(Math.max(0, rest), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  stop(): void {
    this.stopping.abort();
    this.session?.destroy();
  }

  private async look(manager: EntityManager, startedAt: number): Promise<void> {
    const { clock, metrics, availability, tracing } = this.near;
    const { stamp, time } = await readTransaction(manager, () => readStamp(manager, this.topic));
    clock.measured(time, startedAt);
    metrics.databaseUp.set(1);
    availability.answered();
    if (stamp === this.stamp) [this.confirmedAt, this.refused] = [startedAt, undefined];
    const isKnown = stamp === this.stamp || stamp === this.refused?.stamp;
    if (!isKnown || startedAt >= this.wholeAt)
      await tracing.traced(`reload ${this.topic}`, {}, () => this.reload(manager));
  }

  private async reload(manager: EntityManager): Promise<void> {
    const { topic, source, value: former } = this;
    const { metrics, log } = this.near;
    const startedAt = performance.now();
    this.wholeAt = startedAt + WHOLE_MS * (1 - Math.random() / 4);
    let stamp = '';
    try {
      const value = await readTransaction(manager, async () => {
        await source.lock(manager);
        ({ stamp } = await readStamp(manager, topic));
        return source.read(manager);
      });
      const isUnrecorded =
        former !== undefined && stamp === this.stamp && !source.isEqual(former, value);
      [this.value, this.stamp, this.refused] = [value, stamp, undefined];
      this.confirmedAt = startedAt;
      metrics.snapshotReloads.inc({ topic, result: 'loaded' });
      const durationMs = Math.round(performance.now() - startedAt);
      log.info({ topic, stamp, durationMs }, 'snapshot: loaded');
      if (!isUnrecorded) return;
      metrics.unrecordedChanges.inc({ topic });
      log.warn({ topic }, 'snapshot: a change without a stamp was found, and is served now');
    } catch (error) {
      if (!(error instanceof RefusedSnapshot)) {
        this.wholeAt = 0; // read everything as soon as the database answers
        metrics.snapshotReloads.inc({ topic, result: 'failed' });
        throw error;
      }
      await manager.query('rollback');
      this.refused = { stamp, reason: error.message };
      metrics.snapshotReloads.inc({ topic, result: 'refused' });
      log.error({ topic, reason: error.message }, 'snapshot: refused, the former one stays');
    }
  }
}
