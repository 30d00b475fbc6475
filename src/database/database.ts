import { setTimeout as pause } from 'node:timers/promises';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { QueryConfig } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { ConnectionFields } from '../configuration/database-url.js';
import { OperatorError } from '../telemetry/error-message.js';
import { type BorrowedSession, type DatabaseUse, abandonPool, borrowSession, describeDatabase } from './data-source.js';
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

const CONNECT_RETRY_INTERVAL_MS = 200;
/**
 * The limit for the answer to COMMIT or ROLLBACK. Without it, a command would wait for ever if the network loses the
 * answer, or if a synchronous standby that must confirm COMMIT is gone.
 */
const ENDING_ANSWER_MS = 20_000;

/**
 * A function that runs inside a transaction. Session and manager use the same connection. Do not catch an error of
 * PostgreSQL in the function, except inside a savepoint: after the error the transaction accepts no more statements.
 */
export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

/**
 * The database of a program. Each transaction connects if necessary, so the program can start while the database is
 * away. After an error the session is closed, because a query may still be running in it.
 */
export class Database implements OnApplicationShutdown {
  /** The attempt to connect that is running or has succeeded. Undefined before the first one, and after a failure. */
  private initialization: Promise<unknown> | undefined;
  private isClosing = false;

  /** @param source made with `createSourceOptions(fields, use)`, and not initialized yet */
  constructor(
    private readonly source: DataSource,
    private readonly fields: ConnectionFields,
    private readonly use: DatabaseUse,
  ) {}

  /**
   * False before the first login, and while the program ends. The first attempt after a refused login closes all
   * sessions: from then on the value is false, until a login succeeds.
   */
  get isLoggedIn(): boolean {
    return this.source.isInitialized && !this.isClosing;
  }

  /**
   * Runs the work in one transaction. The kind selects limits and settings in transactions.ts. Never call `within`
   * inside the work: a command has only one session, so the inner call would wait for ever.
   */
  within<T>(kind: Kind, work: Work<T>, limits?: Partial<Limits>): Promise<T> {
    const { totalMs } = describeKind(kind, limits);
    return this.borrow(async (session, manager) => {
      const totalLimit = new TotalLimit(session, totalMs);
      try {
        await this.begin(session, kind, limits);
        const result = await work(session, manager);
        await finish(session, kind);
        return result;
      } catch (error) {
        if (totalLimit.isExceeded) throw new LostSession(`the transaction took longer than ${totalMs / 1000} s`);
        throw explainLoss(error, session);
      } finally {
        totalLimit.stop();
      }
    });
  }

  /** Runs the work without a transaction and its limits. Only run-migrations.ts may use it. Others call `within`. */
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

  /**
   * Waits for a running attempt to connect. Nest closes only a connected source, so without the wait the new session
   * would stay open.
   */
  async onApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    try {
      await this.initialization;
    } catch {
      // The attempt failed, so there is no session
    }
  }

  /** Ends all sessions. Only commands call `close`, because in the service Nest closes the data source. */
  async close(): Promise<void> {
    await this.onApplicationShutdown();
    try {
      await this.source.destroy();
    } catch {
      // The connection was lost. That does not matter any more, because the work has ended
    }
  }

  /** @throws UnusableDatabase, whose message names database, host, port and remedy */
  private async connect(): Promise<BorrowedSession> {
    const retryUntilMs = performance.now() + this.use.connectRetryMs;
    for (;;) {
      if (this.isClosing) throw new Error('the program is shutting down');
      try {
        return await this.tryToConnect();
      } catch (error) {
        if (performance.now() >= retryUntilMs || !mayBecomeReachable(error)) throw this.toUnusableDatabase(error);
      }
      await pause(CONNECT_RETRY_INTERVAL_MS);
    }
  }

  /**
   * If PostgreSQL refuses a login, the next call closes all older sessions and logs in again. Otherwise queries in
   * older sessions would still succeed, and the log would say "failed" and "works again" alternately.
   */
  private async tryToConnect(): Promise<BorrowedSession> {
    this.initialization ??= this.initialize();
    const ownAttempt = this.initialization;
    await ownAttempt;
    try {
      return await borrowSession(this.source);
    } catch (error) {
      // False if another caller was refused first, and has reset `initialization`. A newer attempt may then be running
      const isLatestAttempt = this.initialization === ownAttempt;
      if (isLoginRefused(error) && isLatestAttempt) this.initialization = undefined;
      throw error;
    }
  }

  /** Closes older sessions, and logs in. After a failure it resets `initialization`, so the next call tries again. */
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

  /** @throws UnusableDatabase if PostgreSQL refuses, for example because a hot standby takes no writes */
  private async begin(session: Session, kind: Kind, limits?: Partial<Limits>): Promise<void> {
    try {
      await session.query(beginText(kind, session.serverVersion, limits));
    } catch (error) {
      throw findRefusal(error) ? this.toUnusableDatabase(error) : error;
    }
  }

  private toUnusableDatabase(error: unknown): UnusableDatabase {
    return new UnusableDatabase(describeDatabase(this.fields), error);
  }
}

/**
 * Locks tables. Call this function before the first query, which takes the snapshot. If another session truncates and
 * refills a table in one transaction, an older snapshot sees neither the old nor the new rows.
 */
export function lockBeforeSnapshot(session: Pick<Session, 'query'>, tables: readonly Table[]): Promise<unknown> {
  const names = tables.map(({ name }) => `public.${name}`);
  return session.query(`lock table ${names.join(', ')} in access share mode`);
}

/** Ends the transaction. A reading or a rollback has nothing to lose, so an error at its end is ignored. */
async function finish(session: Session, kind: Kind): Promise<void> {
  const { access, ending } = describeKind(kind);
  if (access === 'read write' && ending === 'commit') return commit(session);
  try {
    await session.query(chooseEnding(ending));
  } catch {
    session.abandon();
  }
}

function chooseEnding(text: string): QueryConfig {
  const query = { text, query_timeout: ENDING_ANSWER_MS }; // a variable, because pg's types lack `query_timeout`
  return query;
}

/** @throws UnknownOutcome if no answer came */
async function commit(session: Session): Promise<void> {
  const answer = await session.query(chooseEnding('commit')).catch((error: unknown) => {
    throw findRefusal(error) ?? new UnknownOutcome(error); // after a refusal, PostgreSQL has rolled back
  });
  // If the work caught the error of a statement, PostgreSQL answers ROLLBACK to COMMIT, without an error
  if (answer.command !== 'COMMIT') throw new Error('PostgreSQL rolled back, because a statement had failed');
}

/**
 * Returns a LostSession if the loss of the session caused the error, else the error itself. LostSession says that
 * nothing was changed. After COMMIT nobody knows that, so `commit` throws UnknownOutcome, which is returned unchanged.
 */
export function explainLoss(error: unknown, { loss }: Session): unknown {
  if (error instanceof OperatorError) return error;
  if (hasClosedSession(error)) return new LostSession(describe(error)); // PostgreSQL's reason says more than `loss`
  return loss === undefined ? error : new LostSession(describe(loss));
}

/** Ends the session after a time, even during a query. */
class TotalLimit {
  isExceeded = false;
  private readonly timer: NodeJS.Timeout | undefined;

  /** @param limitMs 0 means no limit */
  constructor(session: Session, limitMs: number) {
    if (limitMs === 0) return;
    this.timer = setTimeout(() => {
      this.isExceeded = true;
      session.abandon();
    }, limitMs);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
