import { setTimeout as pause } from 'node:timers/promises';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { QueryConfig } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { ConnectionFields } from '../configuration/database-url.js';
import { OperatorError } from '../telemetry/error-message.js';
import { type Connected, type DatabaseUse, abandonPool, describeDatabase, openRunner } from './data-source.js';
import {
  LostSession,
  UnknownOutcome,
  UnusableDatabase,
  describe,
  findRefusal,
  hasClosedSession,
  isLoginRefused,
  mayBecomeReachable,
} from './database-errors.js';
import type { Session } from './session.js';
import type { Table } from './tables.js';
import { type Kind, type Limits, beginText, describeKind } from './transactions.js';

const RETRY_INTERVAL_MS = 200;
/**
 * The limit for the answer to COMMIT or ROLLBACK. No answer comes if the network loses packets, nor to COMMIT if a
 * synchronous standby is gone.
 */
const ENDING_ANSWER_MS = 20_000;

/**
 * The work of a transaction: in SQL, or with TypeORM's manager, which uses the same session. Do not catch an error of
 * PostgreSQL in the work, because the transaction has failed. Catch it only inside a savepoint.
 */
export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

/**
 * The database of a program. Each call connects if necessary, so the program can start while the database is away.
 * After an error the session is closed, because a query may still wait for its answer. PostgreSQL then rolls back.
 */
export class Database implements OnApplicationShutdown {
  /** The attempt to connect that is running or has succeeded. Undefined before the first one, and after a failure. */
  private initialization: Promise<unknown> | undefined;
  private isClosing = false;

  /** @param source made with `sourceOptions(fields, use)`, and not initialized yet */
  constructor(
    private readonly source: DataSource,
    private readonly fields: ConnectionFields,
    private readonly use: DatabaseUse,
  ) {}

  /** True after a login. False again after a refused login, until the next one succeeds, and when the program ends. */
  get isUsable(): boolean {
    return this.source.isInitialized && !this.isClosing;
  }

  /**
   * Runs the work in one transaction of a kind. Never call `within` inside the work: a command has only one session, so
   * the inner call would wait for ever. Set `totalMs` only for work that changes nothing, or is rolled back: after the
   * limit, LostSession says that nothing was changed.
   */
  within<T>(kind: Kind, work: Work<T>, limits?: Partial<Limits>): Promise<T> {
    const { totalMs } = describeKind(kind, limits);
    return this.borrow(async (session, manager) => {
      const timer = new TotalLimit(session, totalMs);
      try {
        await this.begin(session, kind, limits);
        const result = await work(session, manager);
        await finish(session, kind);
        return result;
      } catch (error) {
        throw timer.hasEnded ? new LostSession(`it took longer than ${totalMs / 1000} s`) : explainLoss(error, session);
      } finally {
        timer.stop();
      }
    });
  }

  /** Lends a session outside of a transaction. Only the runner of migrations calls this. */
  async borrow<T>(work: Work<T>): Promise<T> {
    const { runner, session } = await this.connect();
    try {
      return await work(session, runner.manager);
    } catch (error) {
      session.abandon(); // before the release, so that the pool does not take the session back
      throw error;
    } finally {
      await runner.release();
    }
  }

  /** Waits for a running attempt to connect. Nest closes the data source, but does not know of such an attempt. */
  async onApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    try {
      await this.initialization;
    } catch {
      // The attempt failed, so there is no session
    }
  }

  /** Ends all sessions. Commands call it; in the service, Nest closes the data source. */
  async close(): Promise<void> {
    await this.onApplicationShutdown();
    try {
      await this.source.destroy();
    } catch {
      // The connection was lost before, and the work has ended
    }
  }

  /** Connects. Throws UnusableDatabase, which names database, host, port and remedy, if that fails. */
  private async connect(): Promise<Connected> {
    const endAtMs = performance.now() + this.use.patienceMs;
    for (;;) {
      if (this.isClosing) throw new Error('the program is shutting down');
      try {
        return await this.tryToConnect();
      } catch (error) {
        if (performance.now() >= endAtMs || !mayBecomeReachable(error)) throw this.unusable(error);
      }
      await pause(RETRY_INTERVAL_MS);
    }
  }

  /**
   * After a refused login, older sessions still work, until the pool closes them (MAX_LIFETIME_SECONDS). Polls in these
   * sessions would succeed, and the log would say that the database works again. So the next attempt closes them first.
   */
  private async tryToConnect(): Promise<Connected> {
    this.initialization ??= this.initialize();
    const ownAttempt = this.initialization;
    await ownAttempt;
    try {
      return await openRunner(this.source);
    } catch (error) {
      const isNextBegun = this.initialization !== ownAttempt; // another caller was refused, too, and tries already
      if (isLoginRefused(error) && !isNextBegun) this.initialization = undefined;
      throw error;
    }
  }

  /** Closes older sessions, and connects. All callers at the same time share one attempt. A failed one is forgotten. */
  private async initialize(): Promise<void> {
    try {
      if (this.source.isInitialized) await this.source.destroy();
      await this.source.initialize();
    } catch (error) {
      this.initialization = undefined;
      abandonPool(this.source);
      throw error;
    }
  }

  /** Begins. Throws UnusableDatabase if PostgreSQL refuses, as a hot standby refuses a transaction that may write. */
  private async begin(session: Session, kind: Kind, limits?: Partial<Limits>): Promise<void> {
    try {
      await session.query(beginText(kind, session.serverVersion, limits));
    } catch (error) {
      throw findRefusal(error) ? this.unusable(error) : error;
    }
  }

  private unusable(error: unknown): UnusableDatabase {
    return new UnusableDatabase(describeDatabase(this.fields), error);
  }
}

/**
 * Locks the tables of a reading. Call it before the first query, which takes the snapshot: if another session truncated
 * a table after the snapshot and before the lock, the table would look empty.
 */
export function lockTables(session: Pick<Session, 'query'>, tables: readonly Table[]): Promise<unknown> {
  const names = tables.map(({ name }) => `public.${name}`);
  return session.query(`lock table ${names.join(', ')} in access share mode`);
}

/** Ends the transaction. A reading or a rollback has nothing to lose, so an error at its end is ignored. */
async function finish(session: Session, kind: Kind): Promise<void> {
  const { access, ending } = describeKind(kind);
  if (access === 'read write' && ending === 'commit') return commit(session);
  try {
    await session.query(endingQuery(ending));
  } catch {
    session.abandon();
  }
}

/** Returns a query with a limit for its answer. pg's types lack this option. */
function endingQuery(text: string): QueryConfig {
  const query = { text, query_timeout: ENDING_ANSWER_MS };
  return query;
}

/** Commits. Throws UnknownOutcome if no answer came. */
async function commit(session: Session): Promise<void> {
  const answer = await session.query(endingQuery('commit')).catch((error: unknown) => {
    throw findRefusal(error) ?? new UnknownOutcome(error); // after a refusal, PostgreSQL has rolled back
  });
  // If a statement failed and the work caught its error, PostgreSQL answers ROLLBACK, without an error
  if (answer.command !== 'COMMIT') throw new Error('PostgreSQL rolled back, because a statement had failed');
}

/**
 * Returns LostSession if the loss of the session caused the error. LostSession says that nothing was changed. So
 * `commit` wraps its own errors: after a COMMIT was sent, a lost session is an UnknownOutcome.
 */
export function explainLoss(error: unknown, { loss }: Session): unknown {
  if (error instanceof OperatorError) return error;
  if (hasClosedSession(error)) return new LostSession(describe(error)); // PostgreSQL's reason says more than `loss`
  return loss === undefined ? error : new LostSession(describe(loss));
}

/** Ends the session after a time, even during a query. */
class TotalLimit {
  hasEnded = false;
  private readonly timer: NodeJS.Timeout | undefined;

  /** @param limitMs 0 means no limit */
  constructor(session: Session, limitMs: number) {
    if (limitMs === 0) return;
    this.timer = setTimeout(() => {
      this.hasEnded = true;
      session.abandon();
    }, limitMs);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
