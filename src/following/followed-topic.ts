import type { EntityManager } from 'typeorm';
import { type DatabaseSessions, inReadTransaction } from '../database/database-sessions.js';
import type { Session } from '../database/session.js';
import type { Table } from '../database/tables.js';
import type { Metrics } from '../telemetry/metrics.js';
import { type CallerImpact, RepeatedFailure, refusedIn } from '../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { wait } from '../timers/wait.js';
import type { DatabaseClock } from './database-clock.js';
import { type TopicName, pollRevision, readRevision } from './revision.js';

/** How often the database is asked for the revision, so that a committed change is served within a second. */
const POLL_INTERVAL_MS = 250;
/** The database's return is noticed that much later at most. */
const PAUSE_AFTER_FAILURE_MS = 1_000;
/**
 * Everything is read once in this time, also under the same revision: if somebody switched off the triggers that set
 * revisions, callers get the right content at the latest then.
 */
const READ_INTERVAL_MS = 10 * 60_000;
/** The interval is shorter by a random part, up to this share: replicas that start together do not read together. */
const READ_JITTER = 0.25;
/** For operators, about content that cannot be served. */
const REMEDY =
  'as the owner: correct the rows by a migration; if the last migration caused it: node dist/migrate.js down 1 --yes';

/** What the database holds would make broken answers. The message says why, for operators. */
export class RefusedContent extends Error {}

/** How a value is made of what the database holds. */
export interface Topic<T, Rows> {
  readonly name: TopicName;
  /** What is read: these tables are locked before the first query. */
  readonly tables: readonly Table[];
  /** Reads everything, in the transaction of the manager. */
  read(manager: EntityManager): Promise<Rows>;
  /**
   * Makes the value of the rows behind the transaction, so that no lock is held meanwhile.
   * @throws RefusedContent if it cannot be served
   */
  prepare(rows: Rows): T | Promise<T>;
  /** How long the value may be used after the database last confirmed it; Infinity if there is no limit. */
  readonly maxAgeSeconds: number;
}

export interface FollowedTopicOptions<T, Rows> {
  readonly topic: Topic<T, Rows>;
  readonly sessions: Pick<DatabaseSessions, 'withSession'>;
  readonly clock: DatabaseClock;
  readonly metrics: Metrics;
  readonly logger: ServiceLogger;
}

interface Reading<Rows> {
  readonly rows: Rows;
  readonly revision: string;
  readonly askedAtMonotonicMs: number;
}

/** What is served. It is never changed, only replaced. */
interface Served<T> {
  readonly value: T;
  readonly revision: string;
  /** When the database was asked, of which this revision was the answer last. */
  readonly confirmedAtMonotonicMs: number;
  /** Since when this process serves content of this revision, in milliseconds since the epoch. */
  readonly sinceEpochMs: number;
}

/**
 * Keeps a value equal to what the database holds. It asks for the revision four times a second, and reads everything if
 * it is another one. One of three things is the case:
 *
 * - Nothing was read yet: there is no value.
 * - The value is that of a revision. While the database names another one, the former value is served until the new
 *   one is prepared, so in that time a revoked key still passes. That takes milliseconds, or longer while another
 *   session holds an exclusive lock on the table (ALTER TABLE) or where the reading fails, which is in the log.
 * - What the database holds was read and is refused: the former value is served, if there is one. It is read again
 *   when the database names another revision, and each ten minutes.
 *
 * A failure changes nothing but the age, and nothing is awaited longer than a few seconds.
 */
export class FollowedTopic<T, Rows = unknown> {
  private served: Served<T> | undefined;
  private refused: { readonly revision: string; readonly reason: string } | undefined;
  private isAnswered = false;
  private readDueAtMonotonicMs = -Infinity;
  private readonly failure: RepeatedFailure;

  constructor(private readonly options: FollowedTopicOptions<T, Rows>) {
    this.failure = new RepeatedFailure(options.logger, `database (${options.topic.name})`);
  }

  get name(): TopicName {
    return this.options.topic.name;
  }

  /** What is served, or undefined. Use it once for each request: it may be another one the next time. */
  get value(): T | undefined {
    return this.served?.value;
  }

  /** Why what the database holds is not served, or undefined. */
  get refusal(): string | undefined {
    return this.refused?.reason;
  }

  /** Seconds since the database last named the revision of the value; Infinity without a value. */
  get ageSeconds(): number {
    if (!this.served) return Infinity;
    return (performance.now() - this.served.confirmedAtMonotonicMs) / 1000;
  }

  get servedSinceEpochMs(): number | undefined {
    return this.served?.sinceEpochMs;
  }

  /** Whether the database answered when it was last asked, whether or not its content can be read and served. */
  get isDatabaseAnswering(): boolean {
    return this.isAnswered;
  }

  /** Follows the database until `signal` is aborted. FollowingService starts it. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      const hasSucceeded = await this.tryToFollow(signal);
      const restMs = startedAtMs + POLL_INTERVAL_MS - performance.now();
      await wait(hasSucceeded ? restMs : PAUSE_AFTER_FAILURE_MS, signal);
    }
  }

  private async tryToFollow(signal: AbortSignal): Promise<boolean> {
    let isAnswered = false;
    try {
      const reading = await this.options.sessions.withSession(async (session, manager) => {
        const isKnown = await this.poll(session);
        isAnswered = true;
        this.isAnswered = true;
        const isDue = !isKnown || performance.now() >= this.readDueAtMonotonicMs;
        return isDue ? this.read(session, manager) : undefined;
      });
      if (reading) await this.serve(reading);
      this.failure.succeeded();
      return true;
    } catch (error) {
      this.isAnswered = isAnswered;
      if (!signal.aborted) this.failure.failed(error, this.callerImpact);
      return false;
    }
  }

  /** Whether what the database holds was read already. */
  private async poll(session: Session): Promise<boolean> {
    const askedAtMonotonicMs = performance.now();
    const { revision, databaseEpochMs } = await pollRevision(session, this.name);
    const answeredAtMonotonicMs = performance.now();
    this.options.clock.measured({ databaseEpochMs, askedAtMonotonicMs, answeredAtMonotonicMs });
    // First, since the value may have the same revision: what triggers do not see brings no other one
    if (revision === this.refused?.revision) return true;
    this.refused = undefined;
    if (revision !== this.served?.revision) return false;
    this.served = { ...this.served, confirmedAtMonotonicMs: askedAtMonotonicMs };
    return true;
  }

  /** @throws Error if not everything could be read, such as for a lock or a right that is missing */
  private async read(session: Session, manager: EntityManager): Promise<Reading<Rows>> {
    const { topic, metrics } = this.options;
    try {
      return await inReadTransaction(session, topic.tables, async () => {
        const askedAtMonotonicMs = performance.now();
        const revision = await readRevision(session, topic.name);
        return { rows: await topic.read(manager), revision, askedAtMonotonicMs };
      });
    } catch (error) {
      metrics.snapshotReloads.inc({ topic: topic.name, result: 'failed' });
      throw error;
    }
  }

  private async serve({ rows, revision, askedAtMonotonicMs }: Reading<Rows>): Promise<void> {
    const { topic, metrics, logger } = this.options;
    // Before it is known whether it can be served: refused content would be read at each poll
    this.readDueAtMonotonicMs = performance.now() + READ_INTERVAL_MS * (1 - Math.random() * READ_JITTER);
    let value: T;
    try {
      value = await topic.prepare(rows);
    } catch (error) {
      if (!(error instanceof RefusedContent)) throw error;
      this.refuse(revision, error.message);
      return;
    }
    const former = this.served;
    const sinceEpochMs = former?.revision === revision ? former.sinceEpochMs : Date.now();
    this.served = { value, revision, confirmedAtMonotonicMs: askedAtMonotonicMs, sinceEpochMs };
    this.refused = undefined;
    metrics.snapshotReloads.inc({ topic: topic.name, result: 'loaded' });
    const durationMs = Math.round(performance.now() - askedAtMonotonicMs);
    logger.log({ message: 'snapshot: loaded', topic: topic.name, revision, durationMs });
  }

  private refuse(revision: string, reason: string): void {
    const { topic, metrics, logger } = this.options;
    this.refused = { revision, reason };
    metrics.snapshotReloads.inc({ topic: topic.name, result: 'refused' });
    const consequence = this.served ? 'the former one is served' : 'callers get 503';
    const message = `snapshot: refused, ${consequence}`;
    logger.error({ message, topic: topic.name, revision, reason, remedy: REMEDY });
  }

  /** What it means for callers if the database stays away. */
  private get callerImpact(): CallerImpact {
    const { maxAgeSeconds } = this.options.topic;
    if (!this.served) return { name: 'refused' };
    if (maxAgeSeconds === Infinity) return { name: 'none' };
    return refusedIn(maxAgeSeconds - this.ageSeconds);
  }
}
