import { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { type DatabaseAddress, connectionString } from '../../configuration/database-url.js';
import { poolOptions } from '../../database/connections.js';
import { type Session, readTransaction, withSession } from '../../database/session.js';
import { messageOf } from '../../telemetry/error-message.js';
import { refuse } from './command.js';
import { adviceAgainst } from './connection-advice.js';

/**
 * Does the work with a session of the database that DATABASE_URL names, in SQL or with the service's own readers, and ends the session.
 * @throws AdministrationError that says what is wrong with the variable, the server or its version
 */
export async function withDatabase<T>(
  work: (session: Session, manager: EntityManager) => Promise<T>,
  address: DatabaseAddress = process.env,
): Promise<T> {
  const url = connectionString(address);
  const { database, host, port } = new Client({ connectionString: url });
  const { extra, ...options } = poolOptions(address);
  // A command does not try again, so it waits longer than the service
  const limits = { connectionTimeoutMillis: 10_000, query_timeout: 0 };
  const name = { application_name: 'order-lookup-administration' };
  const source = new DataSource({ ...options, extra: { ...extra, ...limits, ...name } });
  let isUsable = false;
  try {
    return await withSession(source, async (manager, session) => {
      // With another encoding, lengths and order would be those of bytes
      const { rowCount } = await session.query(
        `select where current_setting('server_version_num')::int >= 140000 and current_setting('server_encoding') = 'UTF8'`,
      );
      if (!rowCount) throw new Error('PostgreSQL 14 or later and the encoding UTF8 are needed');
      isUsable = true;
      return work(session, manager);
    });
  } catch (error) {
    if (isUsable) throw error;
    return refuse(
      `The database ${database} at ${host}:${port} cannot be used: ${messageOf(error)}. ${adviceAgainst(error, url)}`,
    );
  } finally {
    await source.destroy().catch(() => undefined);
  }
}

/** Does the work in one transaction that reads, with the service's own readers. */
export const withReading = <T>(work: (manager: EntityManager) => Promise<T>): Promise<T> =>
  withDatabase((_session, manager) => readTransaction(manager, work));

/** The texts in the first column of what a query finds. */
export async function textsOf(client: Client, text: string, values?: unknown[]) {
  const { rows } = await client.query<[string]>({ text, values, rowMode: 'array' });
  return rows.map(([first]) => first);
}
