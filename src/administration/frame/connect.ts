import type { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { connectionString, databaseAddressFault } from '../../configuration/database-url.js';
import {
  SERVER_QUERY,
  type ServerFacts,
  Session,
  assertSupported,
} from '../../database/session.js';
import { poolOptions } from '../../database/connections.js';
import { readTransaction, withSession } from '../../database/sessions.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError } from './command.js';

/** Longer than the service's limit: a command is run once and does not try again. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * A session with the database that DATABASE_URL names.
 * @throws AdministrationError that says what is wrong with the variable, the server or its version
 */
export async function connect(environment: NodeJS.ProcessEnv = process.env): Promise<Client> {
  const fault = databaseAddressFault(environment);
  if (fault) throw new AdministrationError(`${fault}.`);
  const url = connectionString(environment);
  const { hostname, port, pathname } = new URL(url);
  const client = new Session({
    address: environment,
    application_name: 'order-lookup-administration',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  try {
    await client.connect();
    const { rows } = await client.query<ServerFacts>(SERVER_QUERY);
    assertSupported(rows[0]);
    // The server notices during a statement that a migration was killed, and releases its locks. Not every platform supports this.
    await client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw new AdministrationError(
      `The database ${pathname.slice(1)} at ${hostname}:${port || 5432} cannot be used: ${describe(error)}. Check DATABASE_URL and that the server runs.`,
    );
  }
}

/** Connects, does the work, and ends the session, whether the work succeeded or not. */
export async function withDatabase<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Does the work in one transaction that reads, with the service's own readers. */
export async function withReading<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
  await withDatabase(() => Promise.resolve()); // it says what is wrong with the variable or the server
  const options = poolOptions(process.env);
  const source = new DataSource({ ...options, extra: { ...options.extra, query_timeout: 0 } });
  try {
    return await withSession(source, (manager) =>
      readTransaction(manager, async () => {
        await manager.query('set local statement_timeout = 0'); // a long record takes its time
        return work(manager);
      }),
    );
  } finally {
    await source.destroy();
  }
}
