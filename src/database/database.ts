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
  mayCome,
} from './database-errors.js';
import type { Session } from './session.js';
import type { Table } from './tables.js';
import { type Kind, type Limits, beginText, describeKind } from './transactions.js';

const RETRY_INTERVAL_MS = 200;
/** COMMIT and ROLLBACK get no answer if packets are swallowed. COMMIT gets none if a synchronous standby is gone. */
const ENDING_ANSWER_MS = 20_000;

/**
 * Works in SQL, or with TypeORM's manager, which uses the same session. Let an error of PostgreSQL leave the work: the
 * transaction has failed with it. Catch an error only inside a savepoint.
 */
export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

/**
 * The database of a program. Each use connects if necessary, so the program can start while the database is away. After
 * an error the session is closed, because its query may still wait for an answer. PostgreSQL then rolls back.
 */
export class Database implements OnApplicationShutdown {
  /** The attempt that is under way, or the one that succeeded. */
  private initialization: Promise<unknown> | undefined;
  private isClosing = false;

  /** @param source made with `sourceOptions(fields, use)`, and not initialized yet */
  constructor(
    private readonly source: DataSource,
    private readonly fields: ConnectionFields,
    private readonly use: DatabaseUse,
  ) {}

  /** True after the first successful connection, until the program ends. */
  get isUsable(): boolean {
    return this.source.isInitialized && !this.isClosing;
  }

  /**
   * Runs the work in one transaction of a kind. Inside of the work, use its session: a command has no second one, so
   * another call would wait for ever.
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

  /** Lends a session outside of a transaction. Only the runner of migrations needs this. */
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

  /** Waits for an attempt to connect. Nest closes the data source, but does not know of a running attempt. */
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
      // The work is done, and the connection was lost before
    }
  }

  /** @throws UnusableDatabase that names database, host and port, and the remedy */
  private async connect(): Promise<Connected> {
    const endAtMs = performance.now() + this.use.patienceMs;
    for (;;) {
      if (this.isClosing) throw new Error('the service is shutting down');
      try {
        return await this.tryToConnect();
      } catch (error) {
        if (performance.now() >= endAtMs || !mayCome(error)) throw this.unusable(error);
      }
      await pause(RETRY_INTERVAL_MS);
    }
  }

  /**
   * After a refused login, older sessions would still work for some minutes. The service would use them, and say that
   * the database works again. So the next attempt begins with closing them.
   */
  private async tryToConnect(): Promise<Connected> {
    this.initialization ??= this.initialize();
    const { initialization } = this;
    await initialization;
    try {
      return await openRunner(this.source);
    } catch (error) {
      const isCurrent = this.initialization === initialization; // otherwise somebody else has begun the next attempt
      if (isLoginRefused(error) && isCurrent) this.initialization = undefined;
      throw error;
    }
  }

  /** One attempt serves all who ask at the same time. A failed attempt is forgotten. */
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

  /** If PostgreSQL refuses to begin, the server is no use for this kind of work, such as a standby for changes. */
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

/** Locks the tables of a reading. Call it before the first query: in an older snapshot a truncated table is empty. */
export function lockTables(session: Pick<Session, 'query'>, tables: readonly Table[]): Promise<unknown> {
  const names = tables.map(({ name }) => `public.${name}`);
  return session.query(`lock table ${names.join(', ')} in access share mode`);
}

/** Ends the transaction. If the end of a reading or of a rollback fails, nothing is lost. */
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

/** @throws UnknownOutcome if no answer came */
async function commit(session: Session): Promise<void> {
  const answer = await session.query(endingQuery('commit')).catch((error: unknown) => {
    throw findRefusal(error) ?? new UnknownOutcome(error); // after a refusal, PostgreSQL has rolled back
  });
  // If a statement had failed, PostgreSQL answers ROLLBACK, without an error
  if (answer.command !== 'COMMIT') throw new Error('PostgreSQL rolled back, because a statement had failed');
}

/**
 * Returns LostSession in place of an error that the loss of the session caused. PostgreSQL's own reason comes first,
 * because the reason of the socket says less. Do not use it after a COMMIT was sent.
 */
export function explainLoss(error: unknown, { loss }: Session): unknown {
  if (error instanceof OperatorError) return error;
  if (hasClosedSession(error)) return new LostSession(describe(error));
  return loss === undefined ? error : new LostSession(describe(loss));
}

/** Ends the session after a time, also during a query. */
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
