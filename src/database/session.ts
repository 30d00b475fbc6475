// Every connection to PostgreSQL is made here, for the pool and the commands. Each has an error listener, so an error never ends the process.
import { Client, type ClientConfig } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { type DatabaseAddress, connectionString } from '../configuration/database-url.js';

// What statements and results depend on, whatever role, database and connection string say. For one transaction only: behind a pooler the
// session is another client's afterwards. Objects of pg_catalog are found first.
export const SETTINGS = `set local search_path = public, pg_temp; set local timezone = 'UTC'; set local datestyle = 'ISO, MDY';
  set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; set local extra_float_digits = 1; set local standard_conforming_strings = on`;
// Without scans and sorts of whole tables the plans are good also for a table that was never analyzed.
export const BEGIN_READING = `begin isolation level repeatable read, read only, not deferrable; ${SETTINGS};
  set local statement_timeout = '2s'; set local lock_timeout = '1s'; set local idle_in_transaction_session_timeout = '10s';
  set local row_security = off; set local jit = off; set local synchronous_commit = off; set local enable_seqscan = off; set local enable_sort = off`;

export class Session extends Client {
  private readonly fault: Error | undefined;

  constructor(options: ClientConfig & { readonly address: DatabaseAddress }) {
    let [url, fault]: [string, Error?] = ['postgres://'];
    try {
      url = connectionString(options.address);
    } catch (error) {
      fault = error as Error; // reported by `connect`: the pool expects no error here
    }
    super({
      keepAlive: true, // detects peers that have vanished
      keepAliveInitialDelayMillis: 5_000,
      ...options,
      connectionString: url,
    });
    this.fault = fault;
    this.on('error', () => undefined);
  }

  override connect(): Promise<Client>;
  override connect(callback: (error?: Error) => void): void;
  override connect(callback?: (error?: Error) => void): Promise<Client> | void {
    const { fault } = this;
    if (!fault) return callback ? super.connect(callback) : super.connect().then(() => this);
    if (!callback) return Promise.reject(fault);
    setImmediate(callback, fault);
  }
}

/** Uses one session of the pool. After an error it is closed, at once if an answer is awaited, and not returned to the pool. */
export async function withSession<T>(
  dataSource: DataSource,
  use: (manager: EntityManager, session: Session) => Promise<T>,
): Promise<T> {
  const runner = (await initialized(dataSource)).createQueryRunner();
  const session = (await runner.connect()) as Session;
  try {
    return await use(runner.manager, session);
  } catch (error) {
    void session.end();
    throw error;
  } finally {
    await runner.release();
  }
}

/** Runs `read` in one read-only REPEATABLE READ transaction, so that all its queries see the same snapshot. */
export async function readTransaction<T>(
  manager: EntityManager,
  read: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  await manager.query(BEGIN_READING);
  const result = await read(manager);
  await manager.query('commit');
  return result;
}

const initializing = new WeakMap<DataSource, Promise<DataSource>>();

/** Initializes the data source once, however many callers ask. Unlike TypeORM's own retries, it may fail and be tried again without a limit. */
async function initialized(dataSource: DataSource): Promise<DataSource> {
  if (dataSource.isInitialized) return dataSource;
  const begin = () => dataSource.initialize().finally(() => initializing.delete(dataSource));
  const pending = initializing.get(dataSource) ?? begin();
  initializing.set(dataSource, pending);
  return pending;
}
