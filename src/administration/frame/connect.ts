// One transaction with a connection of its own, as nearly all commands need it. Migrations need a session of several
// transactions: migrate/migration-session.ts.
import type { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { type DatabaseAddress, connectionString } from '../../configuration/database-url.js';
import { ConnectionSettings } from '../../database/connection-settings.js';
import { DatabaseSessions } from '../../database/database-sessions.js';
import { type Session, poolOptions } from '../../database/session.js';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError, refuse } from './command.js';
import { commit, rollback } from './commit.js';
import { unusableDatabase } from './connection-advice.js';
import { LostConnection, hasEndedSession } from './session-end.js';
import { BEGIN_READING, beginWriting } from './settings.js';

/** A command does not try again, so it waits longer for a connection than the service. */
export const CONNECTION_LIMIT_MS = 10_000;
/** What the sessions of commands call themselves in `pg_stat_activity` and in the record of changes. */
export const APPLICATION = 'order-lookup-administration';

/** The oldest version that is tested. */
const OLDEST_VERSION = 14;
/** In which lengths and order are those of characters. */
const ENCODING = 'UTF8';
const VERSION_AND_ENCODING = `select current_setting('server_version_num')::int / 10000 as version,
  current_setting('server_encoding') as encoding`;

/**
 * Works in SQL, or with the service's own readers: session and manager use the same transaction. An error of PostgreSQL
 * has to leave the work, since the transaction has failed with it; only what a savepoint protects may be caught.
 */
export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

interface TransactionOptions<T> {
  readonly begin: string;
  readonly end: (session: Client) => Promise<void>;
  readonly work: Work<T>;
  readonly address: DatabaseAddress;
}

/** Reads in one transaction, of one snapshot. What was read counts, also where the connection is lost afterwards. */
export function withReading<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: BEGIN_READING, end: rollback, work, address });
}

/** @throws UnknownCommit if COMMIT got no answer */
export function withWriting<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting(), end: commit, work, address });
}

/** What the work writes is never committed. */
export function withRollback<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting(), end: rollback, work, address });
}

/** What an error means: there was no transaction yet, the work or its end failed, or the connection was lost. */
type Stage = 'connecting' | 'working' | 'lost';

async function inTransaction<T>(options: TransactionOptions<T>): Promise<T> {
  const url = checkedConnectionString(options.address);
  const connectionSettings = new ConnectionSettings(options.address);
  const source = dataSourceOf(connectionSettings);
  const sessions = new DatabaseSessions(source, connectionSettings);
  let stage: Stage = 'connecting';
  try {
    return await sessions.withSession(async (manager, session) => {
      await assertSupported(session);
      await session.query(options.begin);
      stage = 'working';
      session.once('error', () => {
        stage = 'lost';
      });
      const result = await options.work(session, manager);
      await options.end(session);
      return result;
    });
  } catch (error) {
    throw explained(error, stage, url);
  } finally {
    await close(source);
  }
}

function explained(error: unknown, stage: Stage, url: string): unknown {
  if (stage === 'connecting') return unusableDatabase(url, error);
  if (error instanceof AdministrationError) return error;
  const isLost = stage === 'lost' || hasEndedSession(error);
  return isLost ? new LostConnection(error) : error;
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
    extra: {
      ...options.extra,
      connectionTimeoutMillis: CONNECTION_LIMIT_MS,
      query_timeout: 0, // the service's limit is for its short queries; a statement of a command may take minutes
    },
    applicationName: APPLICATION,
  });
}

export async function assertSupported(session: Client): Promise<void> {
  const { rows } = await session.query<{ version: number; encoding: string }>(VERSION_AND_ENCODING);
  const { version = 0, encoding = '' } = rows[0] ?? {};
  if (version >= OLDEST_VERSION && encoding === ENCODING) return;
  throw new Error(
    `it is PostgreSQL ${version} with the encoding ${encoding}, ` +
      `and PostgreSQL ${OLDEST_VERSION} or later with the encoding ${ENCODING} is needed`,
  );
}

/** The work is done, so a connection that cannot be closed is nobody's fault. */
async function close(source: DataSource): Promise<void> {
  try {
    await source.destroy();
  } catch {
    // It was lost before
  }
}
