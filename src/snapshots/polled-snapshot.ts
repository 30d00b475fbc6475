// Keeps a value in memory equal to the database. It promises: a committed change is served within a second, wholly; what cannot be read or
// served leaves the former value in place; and nothing is ever waited for longer than a few seconds.
import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { readTransaction, withSession } from '../database/session.js';
import { RepeatedFailure } from '../telemetry/repeated-failure.js';
import type { SnapshotsService } from './snapshots.service.js';
import { RefusedSnapshot, type Source, type Topic } from './source.js';

const EVERY_MS = 250;
/** Everything is read once in this time, less a random part of up to 25 %, so that replicas do it at different times. */
const WHOLE_MS = 10 * 60_000;

export class PolledSnapshot<T> {
  private readonly failure: RepeatedFailure;
  readonly stopping = new AbortController();
  /** The value. Use it once for each request: it may be another one the next time. */
  current: T | undefined;
  /** Why the content of the database is not served, and the stamp of that content. */
  refused: { readonly stamp: string; readonly reason: string } | undefined;
  /** Of the content that `current` was read from. Undefined for a restored value. */
  private stamp: string | undefined;
  /** When the content of `current` was read or restored, in milliseconds since the epoch. */
  servedSince: number | undefined;
  private confirmedAt = -Infinity;
  private wholeAt = 0;

  constructor(
    private readonly topic: Topic,
    private readonly source: Source<T>,
    private readonly context: SnapshotsService,
  ) {
    this.failure = new RepeatedFailure(context.log, `database (${topic})`);
  }

  /** Seconds since the database last confirmed that the value is the committed one; Infinity without a value. */
  get age(): number {
    return (performance.now() - this.confirmedAt) / 1000;
  }

  /** Whether the value is one that was given to `restore`. */
  get isRestored(): boolean {
    return this.current !== undefined && this.stamp === undefined;
  }

  /**
   * Serves a value of an earlier process until the first reading; nothing happens after that.
   * @param age seconds since the database confirmed it
   */
  restore(value: T, age: number): void {
    if (this.current !== undefined) return;
    [this.current, this.confirmedAt] = [value, performance.now() - age * 1000];
    this.servedSince = Date.now();
  }

  /** Looks at the database four times a second until it is stopped. */
  async poll(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const startedAt = performance.now();
      try {
        await withSession(this.context.dataSource, (manager) => this.look(manager, startedAt));
        this.failure.succeeded();
      } catch (error) {
        if (signal.aborted) return;
        this.context.metrics.databaseUp.set(0);
        this.failure.failed(error, this.source.callersRefusedAt?.());
      }
      await this.source.checked?.();
      const rest = startedAt + EVERY_MS - performance.now();
      await pause(Math.max(0, rest), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private async look(manager: EntityManager, startedAt: number): Promise<void> {
    const { clock, metrics } = this.context;
    const { stamp, time } = await readTransaction(manager, () => this.readStamp(manager));
    clock.measured(time, startedAt);
    metrics.databaseUp.set(1);
    if (stamp === this.stamp) [this.confirmedAt, this.refused] = [startedAt, undefined];
    const isKnown = stamp === this.stamp || stamp === this.refused?.stamp;
    if (!isKnown || startedAt >= this.wholeAt) await this.reload(manager);
  }

  /** The stamp of the topic that the transaction sees, and the time of the database in milliseconds since the epoch. */
  private async readStamp(manager: EntityManager): Promise<{ stamp: string; time: number }> {
    const [row] = await manager.query<{ stamp: string; time: number }[]>(
      'select stamp, (extract(epoch from clock_timestamp()) * 1000)::float8 as time from public.revision where topic = $1',
      [this.topic],
    );
    if (!row)
      throw new Error(`as the owner: insert into revision (topic) values ('${this.topic}')`);
    return row;
  }

  private async reload(manager: EntityManager): Promise<void> {
    const { topic, source, current: former } = this;
    const { metrics, log } = this.context;
    const startedAt = performance.now();
    this.wholeAt = startedAt + WHOLE_MS * (1 - Math.random() / 4);
    let stamp = '';
    try {
      const value = await readTransaction(manager, async () => {
        await source.lock(manager);
        ({ stamp } = await this.readStamp(manager));
        return source.read(manager);
      });
      const hasSameStamp = former !== undefined && stamp === this.stamp;
      [this.current, this.stamp, this.refused] = [value, stamp, undefined];
      this.confirmedAt = startedAt;
      metrics.snapshotReloads.inc({ topic, result: 'loaded' });
      const durationMs = Math.round(performance.now() - startedAt);
      log.info({ topic, stamp, durationMs }, 'snapshot: loaded');
      if (hasSameStamp && source.isEqual(former, value)) return;
      this.servedSince = Date.now();
      if (!hasSameStamp) return;
      metrics.unrecordedChanges.inc({ topic });
      log.warn({ topic }, 'snapshot: a change without a stamp was found, and is served now');
    } catch (error) {
      if (!(error instanceof RefusedSnapshot)) {
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
