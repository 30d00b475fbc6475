import type { EntityManager } from 'typeorm';
import { type Database, lockBeforeSnapshot } from '../database/database.js';
import type { Table } from '../database/tables.js';
import type { Metrics } from '../telemetry/metrics.js';
import { type CallerImpact, RepeatedFailure, toCallerImpact } from '../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { wait } from './wait.js';
import type { DatabaseClock } from './database-clock.js';
import { type TopicName, readRevision } from './revision.js';

/**
 * The time from one poll to the next. If you raise it, replicas may serve former codes and accept revoked keys for
 * longer than the promised second. docs/decisions.md#the-poll-interval lists everything that depends on this interval.
 */
const POLL_INTERVAL_MS = 250;
/** The pause after a failure. The service notices only after this pause that the database is back. */
const PAUSE_AFTER_FAILURE_MS = 1_000;
/** If `prepare` throws, the content is read again after this time. */
const UNPREPARED_INTERVAL_MS = 5_000;
/**
 * All content is read once in this time, even if the revision has not changed. So if somebody has switched off the
 * triggers that write revisions, callers get the right content after this time at the latest.
 */
const READ_INTERVAL_MS = 10 * 60_000;
/** Each READ_INTERVAL_MS is shortened by up to this share, by chance, so that replicas do not read at the same time. */
const READ_JITTER = 0.25;

/** Content that is followed. `read` reads its rows in a transaction, and then `prepare` makes a value from them. */
export interface Topic<T, Rows> {
  readonly name: TopicName;
  /** The tables that `read` reads. `lockBeforeSnapshot` locks them first. */
  readonly tables: readonly Table[];
  /** Reads all content, in the manager's transaction. */
  read(manager: EntityManager): Promise<Rows>;
  /** Makes the value. It runs after the transaction, so that no lock is held. If it throws, the former value stays. */
  prepare(rows: Rows): T | Promise<T>;
  /** The time for which a value may be used after the database last confirmed it. Infinity means no limit. */
  readonly maxAgeSeconds: number;
}

export interface FollowedTopicOptions<T, Rows> {
  readonly topic: Topic<T, Rows>;
  readonly database: Pick<Database, 'within'>;
  readonly clock: DatabaseClock;
  readonly metrics: Metrics;
  readonly logger: ServiceLogger;
}

/** The answer of the database to a poll. */
interface PollAnswer {
  readonly revision: string;
  readonly askedAtMonotonicMs: number;
}

interface Reading<Rows> extends PollAnswer {
  readonly rows: Rows;
}

/** The value that is served. It is never changed, only replaced. */
interface Served<T> {
  readonly value: T;
  readonly revision: string;
  /** The time of our last question that the database answered with this revision. */
  readonly confirmedAtMonotonicMs: number;
  /** The time at which this process began to serve this revision. */
  readonly sinceEpochMs: number;
}

/** Content that was read, but for which `prepare` has failed. */
interface Unprepared {
  readonly revision: string;
  readonly readAgainAtMonotonicMs: number;
}

/**
 * Keeps a value equal to the content of the database. A poll asks for the revision. If the revision is new, all content
 * is read. If a step fails, the former value stays. So a revoked key is accepted while changed keys cannot be read.
 */
export class FollowedTopic<T, Rows = unknown> {
  private served: Served<T> | undefined;
  private unprepared: Unprepared | undefined;
  private wasPollAnswered = false;
  private readDueAtMonotonicMs = -Infinity;
  private readonly failure: RepeatedFailure;

  constructor(private readonly options: FollowedTopicOptions<T, Rows>) {
    this.failure = new RepeatedFailure(options.logger, `database (${options.topic.name})`);
  }

  get name(): TopicName {
    return this.options.topic.name;
  }

  /** The value that is served, or undefined. Read it once for each request: a second read may return another value. */
  get value(): T | undefined {
    return this.served?.value;
  }

  /** Seconds since the database last confirmed the revision of the value; Infinity without a value. */
  get ageSeconds(): number {
    if (!this.served) return Infinity;
    return (performance.now() - this.served.confirmedAtMonotonicMs) / 1000;
  }

  get servedSinceEpochMs(): number | undefined {
    return this.served?.sinceEpochMs;
  }

  /** The reason of the last failure, or undefined if the last attempt succeeded. */
  get failureReason(): string | undefined {
    return this.failure.reason;
  }

  /** True if the database answered the last poll, even if its content could not be read or prepared afterwards. */
  get isDatabaseAnswering(): boolean {
    return this.wasPollAnswered;
  }

  /** Follows the database until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      const hasSucceeded = await this.followOnce(signal);
      const restMs = startedAtMs + POLL_INTERVAL_MS - performance.now();
      await wait(hasSucceeded ? restMs : PAUSE_AFTER_FAILURE_MS, signal);
    }
  }

  /** Polls, and reads all content if a reading is due. Returns false after a failure. */
  private async followOnce(signal: AbortSignal): Promise<boolean> {
    try {
      const answer = await this.poll();
      // If somebody changes content while the triggers are off, `unprepared` has the revision of `served`. Then the
      // answer does not show which content the database has, so do not confirm `served`
      if (answer.revision !== this.unprepared?.revision) {
        this.unprepared = undefined; // the database has other content now
        this.confirm(answer);
      }
      if (this.isReadingDue(answer)) await this.readAndServe();
      // While content is unprepared, polls succeed, but the failure of `prepare` lasts
      if (!this.unprepared) this.failure.noteSuccess();
      return true;
    } catch (error) {
      if (!signal.aborted) this.failure.noteFailure(error, this.callerImpact);
      return false;
    }
  }

  private async poll(): Promise<PollAnswer> {
    try {
      const answer = await this.askForRevision();
      this.wasPollAnswered = true;
      return answer;
    } catch (error) {
      this.wasPollAnswered = false;
      throw error;
    }
  }

  /** Asks for the revision, and corrects the clock. */
  private askForRevision(): Promise<PollAnswer> {
    const { database, clock } = this.options;
    return database.within('poll', async (session) => {
      const askedAtMonotonicMs = performance.now();
      const { revision, databaseEpochMs } = await readRevision(session, this.name);
      clock.correct({ databaseEpochMs, askedAtMonotonicMs, answeredAtMonotonicMs: performance.now() });
      return { revision, askedAtMonotonicMs };
    });
  }

  private confirm({ revision, askedAtMonotonicMs }: PollAnswer): void {
    if (revision !== this.served?.revision) return;
    this.served = { ...this.served, confirmedAtMonotonicMs: askedAtMonotonicMs };
  }

  private isReadingDue({ revision }: PollAnswer): boolean {
    const nowMs = performance.now();
    if (this.unprepared) return nowMs >= this.unprepared.readAgainAtMonotonicMs;
    return revision !== this.served?.revision || nowMs >= this.readDueAtMonotonicMs;
  }

  private async readAndServe(): Promise<void> {
    const { topic, metrics } = this.options;
    try {
      await this.serve(await this.read());
    } catch (error) {
      metrics.snapshotReloads.inc({ topic: topic.name, result: 'failed' });
      throw error;
    }
    metrics.snapshotReloads.inc({ topic: topic.name, result: 'loaded' });
  }

  /** Reads in one transaction. Throws if ALTER TABLE or others lock a table for lockMs of `poll`. */
  private read(): Promise<Reading<Rows>> {
    const { topic, database } = this.options;
    return database.within('poll', async (session, manager) => {
      await lockBeforeSnapshot(session, topic.tables);
      const askedAtMonotonicMs = performance.now();
      const { revision } = await readRevision(session, topic.name);
      return { rows: await topic.read(manager), revision, askedAtMonotonicMs };
    });
  }

  private async serve({ rows, revision, askedAtMonotonicMs }: Reading<Rows>): Promise<void> {
    const { topic, logger } = this.options;
    // Set before `prepare`, which may throw. Otherwise the same content would be read again at each poll
    this.unprepared = { revision, readAgainAtMonotonicMs: performance.now() + UNPREPARED_INTERVAL_MS };
    const value = await topic.prepare(rows);
    this.unprepared = undefined;
    const former = this.served;
    const sinceEpochMs = former?.revision === revision ? former.sinceEpochMs : Date.now();
    this.served = { value, revision, confirmedAtMonotonicMs: askedAtMonotonicMs, sinceEpochMs };
    this.readDueAtMonotonicMs = performance.now() + READ_INTERVAL_MS * (1 - Math.random() * READ_JITTER);
    const durationMs = Math.round(performance.now() - askedAtMonotonicMs);
    logger.log({ message: 'snapshot: loaded', topic: topic.name, revision, durationMs });
  }

  /** The effect on callers if the failure goes on. */
  private get callerImpact(): CallerImpact {
    const { maxAgeSeconds } = this.options.topic;
    if (!this.served) return { callers: 'refused' };
    if (maxAgeSeconds === Infinity) return { callers: 'unaffected' };
    return toCallerImpact(maxAgeSeconds - this.ageSeconds);
  }
}
