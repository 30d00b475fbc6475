import { setTimeout as pause } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import type { DatabaseClock } from '../database/database-clock.js';
import { type DatabaseSessions, readTransaction } from '../database/database-sessions.js';
import type { Session } from '../database/session.js';
import type { Metrics } from '../telemetry/metrics.js';
import { type CallerImpact, RepeatedFailure, refusedIn } from '../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { type LastGoodTopic, SAVE_INTERVAL_MS } from './last-good-topic.js';
import type { NamedStamp, PolledSnapshot, Refusal } from './polled-snapshot.js';
import { lookAtStamp, readStamp } from './stamps.js';
import { RefusedSnapshot, type Topic } from './topic.js';

/** How often the database is asked for the stamp, so that a committed change is served within a second. */
const LOOK_INTERVAL_MS = 250;
/** After each failure the interval doubles up to this time, so that the database's return is soon noticed. */
const MAX_LOOK_INTERVAL_MS = 1_000;
/**
 * Everything is read once in this time, also under the same stamp: if somebody switched off the triggers that set
 * stamps, callers get the right content at the latest then.
 */
const READ_ALL_INTERVAL_MS = 10 * 60_000;
/** The interval is shorter by a random part of up to this share, so that replicas read at different times. */
const READ_ALL_JITTER = 0.25;
/** If the database has not answered by then, a start serves what an earlier process kept. */
const RESTORE_AFTER_MS = 1_000;

interface FollowerOptions<T> {
  readonly topic: Topic<T>;
  readonly snapshot: PolledSnapshot<T>;
  readonly lastGood: LastGoodTopic<T>;
  readonly sessions: DatabaseSessions;
  readonly clock: DatabaseClock;
  readonly metrics: Metrics;
  readonly logger: ServiceLogger;
}

type Reading<T> =
  | { readonly isServable: true; readonly named: NamedStamp; readonly value: T }
  | { readonly isServable: false; readonly refusal: Refusal };

/**
 * Keeps a snapshot equal to the database: asks for the stamp four times a second, and reads everything if it is
 * another one. A failure leaves the snapshot as it is, and nothing is waited for longer than a few seconds.
 */
export class SnapshotFollower<T> {
  private readonly failure: RepeatedFailure;
  private readAllAtMs = -Infinity;

  constructor(private readonly options: FollowerOptions<T>) {
    this.failure = new RepeatedFailure(options.logger, `database (${options.topic.name})`);
  }

  /** Follows the database until `signal` is aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    const firstAttempt = this.attempt(signal);
    await Promise.race([firstAttempt, wait(RESTORE_AFTER_MS, signal)]);
    if (this.options.snapshot.value === undefined) await this.restore();
    await firstAttempt;
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      await this.attempt(signal);
      await wait(startedAtMs + this.lookIntervalMs - performance.now(), signal);
    }
  }

  /** Keeps in LAST_GOOD_FOLDER what the database has confirmed, until `signal` is aborted. */
  async keep(signal: AbortSignal): Promise<void> {
    const { snapshot, lastGood } = this.options;
    while (!signal.aborted) {
      const { state } = snapshot;
      if (state.name === 'current') await lastGood.saveIfDue(state.content);
      await wait(SAVE_INTERVAL_MS, signal);
    }
  }

  private get lookIntervalMs(): number {
    const { failuresInARow } = this.failure;
    return Math.min(MAX_LOOK_INTERVAL_MS, LOOK_INTERVAL_MS * 2 ** failuresInARow);
  }

  private async attempt(signal: AbortSignal): Promise<void> {
    const { sessions, snapshot, metrics } = this.options;
    try {
      await sessions.withSession((manager, session) => this.look(manager, session));
      this.failure.succeeded();
    } catch (error) {
      if (signal.aborted) return;
      metrics.databaseUp.set(0);
      snapshot.databaseFailed();
      this.failure.failed(error, this.impactOfFailure);
    }
  }

  /** What it means for callers if the database stays away. */
  private get impactOfFailure(): CallerImpact {
    const { snapshot, topic } = this.options;
    if (snapshot.value === undefined) return { name: 'refused' };
    if (topic.maxAgeSeconds === Infinity) return { name: 'none' };
    return refusedIn(topic.maxAgeSeconds - snapshot.ageSeconds);
  }

  private async look(manager: EntityManager, session: Session): Promise<void> {
    const { topic, snapshot, clock, metrics } = this.options;
    const askedAtMs = performance.now();
    const { stamp, databaseMs } = await lookAtStamp(session, topic.name);
    clock.measured({ databaseMs, askedAtMs, answeredAtMs: performance.now() });
    metrics.databaseUp.set(1);
    snapshot.stampNamed({ stamp, askedAtMs });
    if (snapshot.needsReading || askedAtMs >= this.readAllAtMs) await this.read(manager, session);
  }

  private async read(manager: EntityManager, session: Session): Promise<void> {
    const { topic, snapshot, metrics, logger } = this.options;
    const startedAtMs = performance.now();
    const reading = await this.readTopic(manager, session);
    this.readAllAtMs = startedAtMs + READ_ALL_INTERVAL_MS * (1 - Math.random() * READ_ALL_JITTER);
    if (!reading.isServable) {
      const { stamp, reason } = reading.refusal;
      snapshot.contentRefused(reading.refusal);
      metrics.snapshotReloads.inc({ topic: topic.name, result: 'refused' });
      const message = 'snapshot: refused, the former one stays';
      logger.error({ message, topic: topic.name, stamp, reason });
      return;
    }
    snapshot.contentRead(reading.value, reading.named);
    metrics.snapshotReloads.inc({ topic: topic.name, result: 'loaded' });
    const { stamp } = reading.named;
    const durationMs = Math.round(performance.now() - startedAtMs);
    logger.log({ message: 'snapshot: loaded', topic: topic.name, stamp, durationMs });
  }

  /** @throws Error if the reading came to no end */
  private async readTopic(manager: EntityManager, session: Session): Promise<Reading<T>> {
    const { topic, metrics } = this.options;
    try {
      return await readTransaction(manager, async () => {
        await topic.lock(manager);
        const askedAtMs = performance.now();
        const { stamp } = await readStamp(session, topic.name);
        try {
          const value = await topic.read(manager);
          return { isServable: true, named: { stamp, askedAtMs }, value };
        } catch (error) {
          if (!(error instanceof RefusedSnapshot)) throw error;
          return { isServable: false, refusal: { stamp, reason: error.message } };
        }
      });
    } catch (error) {
      metrics.snapshotReloads.inc({ topic: topic.name, result: 'failed' });
      throw error;
    }
  }

  private async restore(): Promise<void> {
    const { topic, snapshot, lastGood, logger } = this.options;
    const content = await lastGood.load();
    if (content === undefined || !snapshot.restore(content)) return;
    const { ageSeconds } = snapshot;
    logger.warn({ message: 'LAST_GOOD_FOLDER is served', topic: topic.name, ageSeconds });
  }
}

/** Ends early when `signal` is aborted. */
async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(Math.max(0, milliseconds), undefined, { signal, ref: false });
  } catch {
    // aborted
  }
}
