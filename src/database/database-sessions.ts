import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Pool } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { explainError } from './explain-error.js';
import { STATEMENT_TIMEOUT_MS, type Session, settingsFor } from './session.js';
import type { Table } from './tables.js';

/**
 * - A reading sees one state of the database.
 * - A lock is waited for a second: less than the limit of a statement, so that the message names the lock.
 * - Row level security makes it fail, and not see less.
 * - Scans and sorts of whole tables are off, so its plans are good also for a table that was never analyzed.
 */
function beginReading(session: Session): string {
  return `begin isolation level repeatable read, read only, not deferrable;
    ${settingsFor(session, { statement: `${STATEMENT_TIMEOUT_MS}ms`, lock: '1s', idle: '10s', rowSecurity: 'off' })};
    set local jit = off;
    set local enable_seqscan = off;
    set local enable_sort = off`;
}

/**
 * Gives sessions of TypeORM's pool. Unlike the data source itself, it may be used while the database is away: each use
 * tries to initialize the data source until that has succeeded once.
 */
@Injectable()
export class DatabaseSessions implements OnApplicationShutdown {
  /** The attempt that is under way, or the one that succeeded. */
  private initialization: Promise<void> | undefined;
  private isEnding = false;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** Whether the database has answered since the start, and the service does not end. */
  get isUsable(): boolean {
    return this.dataSource.isInitialized && !this.isEnding;
  }

  /**
   * Uses a session. After an error it is closed: a query that got no answer in time would block the next one. So nobody
   * has to roll back a transaction that failed.
   */
  async withSession<T>(use: (session: Session, manager: EntityManager) => Promise<T>): Promise<T> {
    if (this.isEnding) throw new Error('the service is shutting down');
    await this.initialize();
    const runner = this.dataSource.createQueryRunner();
    const session: Session = await runner.connect();
    try {
      return await use(session, runner.manager);
    } catch (error) {
      // At once, if an answer is awaited; before the release, so that the pool does not take it back
      void session.end();
      throw explainError(error);
    } finally {
      await runner.release();
    }
  }

  /** TypeORM's module closes the data source later, but does not know of an attempt that is under way. */
  async onApplicationShutdown(): Promise<void> {
    this.isEnding = true;
    try {
      await this.initialization;
    } catch {
      // The attempt failed, so there is nothing to close
    }
  }

  /** One attempt serves all who ask at the same time. */
  private initialize(): Promise<void> {
    this.initialization ??= this.tryToInitialize();
    return this.initialization;
  }

  /** A failure is not kept: the next one who asks tries again. */
  private async tryToInitialize(): Promise<void> {
    try {
      await this.dataSource.initialize();
    } catch (error) {
      this.initialization = undefined;
      this.abandonPool();
      throw error;
    }
  }

  /**
   * TypeORM 1.1.1 keeps the pool of an attempt that failed after the login, with a session in use, and the next attempt
   * makes another pool. Nothing is awaited: the database may answer no more, and the next attempt must not wait for it.
   */
  private abandonPool(): void {
    const driver = this.dataSource.driver as PostgresDriver;
    const pool: Pool | undefined = driver.master;
    if (!pool) return;
    driver.master = undefined;
    const usedRunners = [...driver.connectedQueryRunners]; // each takes itself off TypeORM's list
    for (const runner of usedRunners) void runner.release();
    void pool.end();
  }
}

/**
 * Runs `read` in one transaction, in which all queries see the same state of the database.
 * @param tables that `read` reads
 */
export async function inReadTransaction<T>(
  session: Session,
  tables: readonly Table[],
  read: () => Promise<T>,
): Promise<T> {
  await session.query(beginReading(session));
  await lockTables(session, tables);
  const result = await read();
  await session.query('commit'); // no rollback after an error: `withSession` closes the session
  return result;
}

/** Comes before the first query of a transaction: an older snapshot would see a truncated table as empty. */
export function lockTables(
  session: { query(sql: string): Promise<unknown> },
  tables: readonly Table[],
): Promise<unknown> {
  const names = tables.map(({ name }) => `public.${name}`);
  return session.query(`lock table ${names.join(', ')} in access share mode`);
}
