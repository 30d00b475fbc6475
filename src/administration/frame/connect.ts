import type { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { connectionString } from '../../configuration/database-url.js';
import { poolOptions } from '../../database/connections.js';
import { Session, readTransaction, withSession } from '../../database/session.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { refuse } from './command.js';

const NAME = 'order-lookup-administration';

/**
 * A session with the database that DATABASE_URL names.
 * @throws AdministrationError that says what is wrong with the variable, the server or its version
 */
export async function connect(address: NodeJS.ProcessEnv = process.env): Promise<Client> {
  connectionString(address); // it says what is wrong with the variable
  // A command does not try again, so it waits longer than the service
  const client = new Session({ address, application_name: NAME, connectionTimeoutMillis: 10_000 });
  try {
    await client.connect();
    // With another encoding, lengths and order would be those of bytes
    const { rowCount } = await client.query(
      `select where current_setting('server_version_num')::int >= 140000 and current_setting('server_encoding') = 'UTF8'`,
    );
    if (!rowCount) throw new Error('PostgreSQL 14 or later and the encoding UTF8 are needed');
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    return refuse(
      `The database ${client.database} at ${client.host}:${client.port} cannot be used: ${describe(error)}. Check DATABASE_URL and that the server runs.`,
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

/** A session that the service's own readers can use. */
export async function withManager<T>(
  work: (manager: EntityManager, session: Session) => Promise<T>,
): Promise<T> {
  await (await connect()).end(); // it says what is wrong with the variable or the server
  const options = poolOptions(process.env);
  const extra = { ...options.extra, query_timeout: 0, application_name: NAME };
  const source = new DataSource({ ...options, extra });
  try {
    return await withSession(source, work);
  } finally {
    await source.destroy().catch(() => undefined);
  }
}

/** Does the work in one transaction that reads, with the service's own readers. */
export const withReading = <T>(work: (manager: EntityManager) => Promise<T>): Promise<T> =>
  withManager((manager) => readTransaction(manager, work));
