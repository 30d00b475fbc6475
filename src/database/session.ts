// Every connection to PostgreSQL is made here, for the pool and the commands. Each has an error listener, so an error never ends the process.
import { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { type DatabaseAddress, connectionString } from '../configuration/database-url.js';
import { ApiKey, AreaProperty, CodeListValue, CommunicationCode } from './entities.js';

// What statements and results depend on, whatever role, database and connection string say. For one transaction only: behind a pooler the
// session is another client's afterwards. Objects of pg_catalog are found first.
export const SETTINGS = `set local search_path = public, pg_temp; set local timezone = 'UTC'; set local datestyle = 'ISO, MDY';
  set local intervalstyle = 'postgres'; set local bytea_output = 'hex'; set local extra_float_digits = 1; set local standard_conforming_strings = on;
  set local quote_all_identifiers = off`;
// Without scans and sorts of whole tables the plans are good also for a table that was never analyzed.
export const BEGIN_READING = `begin isolation level repeatable read, read only, not deferrable; ${SETTINGS};
  set local statement_timeout = '2s'; set local lock_timeout = '1s'; set local idle_in_transaction_session_timeout = '10s';
  set local row_security = off; set local jit = off; set local synchronous_commit = off; set local enable_seqscan = off; set local enable_sort = off`;

/** Three sessions: one for the keys, one for the codes, and one for the use of keys. So none of them waits for another. */
export const poolOptions = (address: DatabaseAddress) => ({
  type: 'postgres' as const,
  entities: [CodeListValue, AreaProperty, CommunicationCode, ApiKey],
  manualInitialization: true, // the first reading connects, so that the service can start without the database
  poolSize: 3,
  connectTimeoutMS: 2_000,
  applicationName: 'order-lookup-services',
  poolErrorHandler: () => undefined, // an idle session ended: the pool makes a new one, and the next look logs that the database is away
  // The time limit of a query is a little longer than the server's own, whose error message is more precise. A session that has reached its
  // lifetime ends when it is free, so another address or password counts then
  extra: {
    Client: Session,
    address,
    query_timeout: 2_500,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 290,
  },
});

export class Session extends Client {
  constructor(options: ClientConfig & { readonly address: DatabaseAddress }) {
    // Keepalives detect peers that have vanished
    super({ keepAlive: true, keepAliveInitialDelayMillis: 5_000, ...options, ...target(options) });
    this.on('error', () => undefined);
  }
}

/** The pool expects no error before it connects: so connecting fails where there is no connection string. */
function target({ address }: { readonly address: DatabaseAddress }): ClientConfig {
  try {
    return { connectionString: connectionString(address) };
  } catch (error) {
    const connect = (): unknown => socket.destroy(error as Error);
    const socket = Object.assign(new Socket(), { connect });
    return { stream: () => socket };
  }
}

/** Uses one session of the pool. After an error it is closed, at once if an answer is awaited, and not returned to the pool. */
export async function withSession<T>(
  dataSource: DataSource,
  use: (manager: EntityManager, session: Session) => Promise<T>,
): Promise<T> {
  await initialized(dataSource);
  const runner = dataSource.createQueryRunner();
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
export async function readTransaction<T>(manager: EntityManager, read: () => Promise<T>) {
  await manager.query(BEGIN_READING);
  const result = await read();
  await manager.query('commit');
  return result;
}

const initializing = new WeakMap<DataSource, Promise<unknown>>();

/** Initializes the data source once, however many callers ask. Unlike TypeORM's own retries, it may fail and be tried again without a limit. */
function initialized(dataSource: DataSource): Promise<unknown> | undefined {
  const begin = () => dataSource.initialize().finally(() => initializing.delete(dataSource));
  if (!dataSource.isInitialized && !initializing.has(dataSource))
    initializing.set(dataSource, begin());
  return initializing.get(dataSource);
}
