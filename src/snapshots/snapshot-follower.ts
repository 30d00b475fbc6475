import type { EntityManager } from 'typeorm';
import type { DatabaseClock } from '../database/database-clock.js';
import { type DatabaseSessions, inReadTransaction } from '../database/database-sessions.js';
import type { DatabaseStatus } from '../database/database-status.js';
import type { Session } from '../database/session.js';
import type { Metrics } from '../telemetry/metrics.js';
import { type CallerImpact, RepeatedFailure, refusedIn } from '../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { BackOff } from '../timers/back-off.js';
import { wait } from '../timers/wait.js';
import type { NamedStamp, PolledSnapshot } from './polled-snapshot.js';
import { pollStamp, readStamp } from './stamps.js';
import type { ReadResult, Topic } from './topic.js';

/** How often the database is asked for the stamp, so that a committed change is served within a second. */
const POLL_INTERVAL_MS = 250;
/** After each failure the interval doubles up to this time, so that the database's return is soon noticed. */
const MAX_POLL_INTERVAL_MS = 1_000;
/**
 * Everything is read once in this time, also under the same stamp: if somebody switched off the triggers that set
 * stamps, callers get the right content at the latest then.
 */
const RELOAD_INTERVAL_MS = 10 * 60_000;
/** The interval is shorter by a random part, up to this share: replicas that start together do not read together. */
const RELOAD_JITTER = 0.25;
/** For operators, about content that cannot be served. */
const REMEDY = 'correct the rows by a migration; if the last migration caused it: npm run migrate -- down';

interface FollowerOptions<T> {
  readonly topic: Topic<T>;
  readonly snapshot: PolledSnapshot<T>;
  readonly sessions: DatabaseSessions;
  readonly status: DatabaseStatus;
  readonly clock: DatabaseClock;
  readonly metrics: Metrics;
  readonly logger: ServiceLogger;
}

/** All rows of a topic, and the stamp that belongs to them. */
interface Reading<T> {
  readonly named: NamedStamp;
  readonly result: ReadResult<T>;
}

/**
 * Keeps a snapshot equal to the database. A poll asks for the stamp, four times a second. If it is another one, a
 * reload reads everything. A failure leaves the snapshot as it is, and nothing is awaited longer than a few seconds.
 */
export class SnapshotFollower<T> {
  private readonly backOff = new BackOff({
    usualMs: POLL_INTERVAL_MS,
    maxMs: MAX_POLL_INTERVAL_MS,
  });
  private readonly failure: RepeatedFailure;
  private reloadDueAtMs = -Infinity;

  constructor(private readonly options: FollowerOptions<T>) {
    this.failure = new RepeatedFailure(options.logger, `database (${options.topic.name})`);
  }

  /** Follows the database until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      await this.tryToPoll(signal);
      await wait(startedAtMs + this.backOff.pauseMs - performance.now(), signal);
    }
  }

  /** Never throws. */
  private async tryToPoll(signal: AbortSignal): Promise<void> {
    const { sessions, snapshot, status, topic } = this.options;
    let isAnswered = false;
    try {
      await sessions.withSession(async (manager, session) => {
        await this.poll(session);
        isAnswered = true;
        if (this.isReloadDue) await this.reload(manager, session);
      });
      this.backOff.succeeded();
      this.failure.succeeded();
    } catch (error) {
      if (signal.aborted) return;
      if (!isAnswered) {
        status.unanswered(topic.name);
        snapshot.databaseFailed();
      }
      this.backOff.failed();
      this.failure.failed(error, this.impactOfFailure);
    }
  }

  private async poll(session: Session): Promise<void> {
    const { topic, snapshot, status, clock } = this.options;
    const askedAtMonotonicMs = performance.now();
    const { stamp, databaseEpochMs } = await pollStamp(session, topic.name);
    const answeredAtMonotonicMs = performance.now();
    status.answered(topic.name);
    clock.measured({ databaseEpochMs, askedAtMonotonicMs, answeredAtMonotonicMs });
    snapshot.stampNamed({ stamp, askedAtMonotonicMs });
  }

  private get isReloadDue(): boolean {
    return this.options.snapshot.needsReading || performance.now() >= this.reloadDueAtMs;
  }

  /** Reads everything, and serves it if it can be served. */
  private async reload(manager: EntityManager, session: Session): Promise<void> {
    const { topic, snapshot, metrics, logger } = this.options;
    const startedAtMs = performance.now();
    const { named, result } = await this.read(manager, session);
    const intervalMs = RELOAD_INTERVAL_MS * (1 - Math.random() * RELOAD_JITTER);
    this.reloadDueAtMs = startedAtMs + intervalMs;
    const { stamp } = named;
    if (!result.isServable) {
      const { reason } = result;
      snapshot.contentUnservable({ stamp, reason });
      metrics.snapshotReloads.inc({ topic: topic.name, result: 'refused' });
      const isFormerServed = snapshot.value !== undefined;
      const consequence = isFormerServed ? 'the former one is served' : 'callers get 503';
      const message = `snapshot: refused, ${consequence}`;
      logger.error({ message, topic: topic.name, stamp, reason, remedy: REMEDY });
      return;
    }
    snapshot.contentRead(result.value, named);
    metrics.snapshotReloads.inc({ topic: topic.name, result: 'loaded' });
    const durationMs = Math.round(performance.now() - startedAtMs);
    logger.log({ message: 'snapshot: loaded', topic: topic.name, stamp, durationMs });
  }

  /** @throws Error if not everything could be read, such as for a lock or a right that is missing */
  private async read(manager: EntityManager, session: Session): Promise<Reading<T>> {
    const { topic, metrics } = this.options;
    try {
      return await inReadTransaction(session, async () => {
        await topic.lock(manager);
        const askedAtMonotonicMs = performance.now();
        const { stamp } = await readStamp(session, topic.name);
        const result = await topic.read(manager);
        return { named: { stamp, askedAtMonotonicMs }, result };
      });
    } catch (error) {
      metrics.snapshotReloads.inc({ topic: topic.name, result: 'failed' });
      throw error;
    }
  }

  /** What it means for callers if the database stays away. */
  private get impactOfFailure(): CallerImpact {
    const { snapshot, topic } = this.options;
    if (snapshot.value === undefined) return { name: 'refused' };
    if (topic.maxAgeSeconds === Infinity) return { name: 'none' };
    return refusedIn(topic.maxAgeSeconds - snapshot.ageSeconds);
  }
}
