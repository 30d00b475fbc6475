import type { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { type DatabaseAddress, connectionString } from '../../configuration/database-url.js';
import { ConnectionSettings } from '../../database/connection-settings.js';
import { DatabaseSessions } from '../../database/database-sessions.js';
import { type Session, poolOptions } from '../../database/session.js';
import { messageOf } from '../../telemetry/error-message.js';
import { refuse } from './command.js';
import { commit } from './commit.js';
import { unusableDatabase } from './connection-advice.js';
import { BEGIN_READING, beginWriting } from './settings.js';

/** A command does not try again, so it waits longer for a connection than the service. */
export const CONNECTION_LIMIT_MS = 10_000;
export const APPLICATION = 'order-lookup-administration';

/** With another encoding, lengths and order would be those of bytes. */
const SUPPORTED = `select where current_setting('server_version_num')::int >= 140000
  and current_setting('server_encoding') = 'UTF8'`;

/** In SQL, or with the service's own readers. Both use the same transaction. */
export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

interface TransactionOptions<T> {
  readonly begin: string;
  readonly end: (session: Client) => Promise<unknown>;
  readonly work: Work<T>;
  readonly address: DatabaseAddress;
}

/** Reads in one transaction, of one snapshot. */
export function withDatabase<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: BEGIN_READING, end: commit, work, address });
}

/** @throws UnknownCommit if COMMIT got no answer */
export function withWriting<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting(), end: commit, work, address });
}

/** What the work writes is never committed. */
export function withRollback<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting(), end: rollback, work, address });
}

async function inTransaction<T>(options: TransactionOptions<T>): Promise<T> {
  const url = checkedConnectionString(options.address);
  const connectionSettings = new ConnectionSettings(options.address);
  const source = dataSourceOf(connectionSettings);
  const sessions = new DatabaseSessions(source, connectionSettings);
  let hasBegun = false;
  try {
    return await sessions.withSession(async (manager, session) => {
      await assertSupported(session);
      await session.query(options.begin);
      hasBegun = true;
      const result = await options.work(session, manager);
      await options.end(session);
      return result;
    });
  } catch (error) {
    if (hasBegun) throw error;
    throw unusableDatabase(url, error);
  } finally {
    await close(source);
  }
}

/** @throws AdministrationError that names the variable, and no part of the connection string */
export function checkedConnectionString(address: DatabaseAddress): string {
  try {
    return connectionString(address);
  } catch (error) {
    return refuse(messageOf(error));
  }
}

function dataSourceOf(connectionSettings: ConnectionSettings): DataSource {
  const options = poolOptions(connectionSettings);
  return new DataSource({
    ...options,
    extra: { ...options.extra, connectionTimeoutMillis: CONNECTION_LIMIT_MS, query_timeout: 0 },
    applicationName: APPLICATION,
  });
}

export async function assertSupported(session: Client): Promise<void> {
  const { rowCount } = await session.query(SUPPORTED);
  if (rowCount === 0) throw new Error('PostgreSQL 14 or later and the encoding UTF8 are needed');
}

function rollback(session: Client): Promise<unknown> {
  return session.query('rollback');
}

/** The work is done, so a connection that cannot be closed is nobody's fault. */
async function close(source: DataSource): Promise<void> {
  try {
    await source.destroy();
  } catch {
    // It was lost before
  }
}

/** The first column of the rows. */
export async function columnOf<T = string>(
  client: Client,
  text: string,
  values?: unknown[],
): Promise<T[]> {
  const { rows } = await client.query<[T]>({ text, values, rowMode: 'array' });
  return rows.map(([first]) => first);
}
