import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { ConnectionSettings } from './connection-settings.js';
import { SETTINGS, type Session } from './session.js';

/**
 * - A reading sees one state of the database, and waits for no lock longer than a second.
 * - Row level security makes it fail, and not see less.
 * - Without scans and sorts of whole tables its plans are good also for a table that was never analyzed.
 */
const BEGIN_READING = `begin isolation level repeatable read, read only, not deferrable;
  ${SETTINGS};
  set local statement_timeout = '2s';
  set local lock_timeout = '1s';
  set local idle_in_transaction_session_timeout = '10s';
  set local row_security = off;
  set local jit = off;
  set local enable_seqscan = off;
  set local enable_sort = off`;

/** Gives sessions of TypeORM's pool. Unlike the data source itself, it may be used while the database is away. */
@Injectable()
export class DatabaseSessions {
  private initializing: Promise<void> | undefined;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly connectionSettings: ConnectionSettings,
  ) {}

  /** Whether the database has answered since the start. */
  get isInitialized(): boolean {
    return this.dataSource.isInitialized;
  }

  /** Which database it is, without user and password. */
  get databaseName(): string {
    return this.connectionSettings.databaseName;
  }

  /** Uses a session. After an error it is closed: a query that got no answer in time would block the next one. */
  async withSession<T>(use: (manager: EntityManager, session: Session) => Promise<T>): Promise<T> {
    if (!this.hasFreeSession) this.connectionSettings.refresh();
    await this.initialize();
    const runner = this.dataSource.createQueryRunner();
    const session: Session = await runner.connect();
    try {
      return await use(runner.manager, session);
    } catch (error) {
      void session.end(); // closes the connection at once if an answer is awaited
      throw error;
    } finally {
      await runner.release();
    }
  }

  /** If not, the pool makes a connection next. */
  private get hasFreeSession(): boolean {
    if (!this.dataSource.isInitialized) return false;
    const { master: pool } = this.dataSource.driver as PostgresDriver;
    return pool.idleCount > 0;
  }

  /** Once, however many ask at the same time. */
  private initialize(): Promise<void> | undefined {
    if (this.dataSource.isInitialized) return undefined;
    this.initializing ??= this.tryToInitialize();
    return this.initializing;
  }

  /** A failure is not kept: the next one who asks tries again. */
  private async tryToInitialize(): Promise<void> {
    try {
      await this.dataSource.initialize();
    } finally {
      this.initializing = undefined;
    }
  }
}

/** Runs `read` in one transaction, in which all queries see the same state of the database. */
export async function readTransaction<T>(
  manager: EntityManager,
  read: () => Promise<T>,
): Promise<T> {
  await manager.query(BEGIN_READING);
  const result = await read();
  await manager.query('commit');
  return result;
}
