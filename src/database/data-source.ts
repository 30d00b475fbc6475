// TypeORM's pool of sessions, and the two ways in which our programs use it.
import { Client, type Pool } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { ConnectionFields } from '../configuration/database-url.js';
import { ENTITIES } from './entities.js';
import { Session } from './session.js';

/** How a program uses its database. */
export interface DatabaseUse {
  /** The name of its sessions in `pg_stat_activity` and in the change history. */
  readonly application: string;
  /** The largest number of sessions. */
  readonly sessions: number;
  /** The limit of one attempt to connect. */
  readonly connectMs: number;
  /**
   * The time for which connecting is tried again if the server may become reachable. 0 means a single attempt. A new
   * pod's first connections may be refused, until its node has applied the network policies.
   */
  readonly patienceMs: number;
  /** The limit for the answer to a query; 0 means no limit. */
  readonly answerMs: number;
}

/**
 * The service needs a session for the keys, one for the codes, and one for the last use of keys. With fewer, a poll of
 * the keys would wait for a session while codes are read, so a revoked key would be accepted longer.
 */
export const SERVICE: DatabaseUse = {
  application: 'order-lookup-services',
  sessions: 3, // if you change this number, correct docs/operators.md, too
  connectMs: 2_000,
  patienceMs: 0, // the polls and the note of the last use try again themselves
  answerMs: 2_500, // longer than statementMs of a poll, because PostgreSQL's own message says more
};

export const COMMAND: DatabaseUse = {
  application: 'order-lookup-administration',
  sessions: 1,
  connectMs: 10_000,
  patienceMs: 10_000,
  answerMs: 0, // a migration may take minutes
};

/** The pool closes a session that nobody used for this time. Polls use theirs four times a second. */
const IDLE_TIMEOUT_MS = 30_000;
/**
 * A session older than this is closed when it returns to the pool. So a new password or DNS entry is used within five
 * minutes.
 */
const MAX_LIFETIME_SECONDS = 290;
/** The kernel probes a connection on which nothing came for this time. */
const KEEP_ALIVE_MS = 5_000;
/** The oldest version of PostgreSQL that is tested. */
const OLDEST_VERSION = 14;
/** In UTF8, PostgreSQL counts characters, and sorts by code points. In SQL_ASCII it would count and sort bytes. */
const ENCODING = 'UTF8';

/** Returns database, host and port for a message, with pg's defaults. The text has no credential. */
export function describeDatabase(fields: ConnectionFields): string {
  const { database, host, port } = new Client(fields);
  return `database ${database} at ${host}:${port}`;
}

/**
 * Returns TypeORM's options, without a `url`. Beside a `url`, pg would ignore the function `password`, which reads the
 * password of DATABASE_URL_FILE for each connection.
 */
export function sourceOptions(fields: ConnectionFields, use: DatabaseUse): PostgresDataSourceOptions {
  const { user: username, options, application_name: applicationName = use.application, ...address } = fields;
  return {
    ...address,
    type: 'postgres',
    username,
    applicationName,
    entities: ENTITIES,
    poolSize: use.sessions,
    connectTimeoutMS: use.connectMs,
    // Called if a session is lost while nobody uses it. The next use connects again, and reports what is wrong
    poolErrorHandler: () => undefined,
    // These go to pg's pool, and to each session
    extra: {
      Client: Session,
      options,
      query_timeout: use.answerMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    },
  };
}

/** A session of the pool, and TypeORM's runner that has it. Release the runner after use. */
export interface Connected {
  readonly runner: QueryRunner;
  readonly session: Session;
}

/** Takes a session from the pool. Throws if the version or the encoding of its server is not supported. */
export async function openRunner(source: DataSource): Promise<Connected> {
  const runner = source.createQueryRunner();
  const session: Session = await runner.connect();
  const { serverVersion, serverEncoding } = session;
  // Behind a pooler that hides them, the version is 0 and the encoding is empty
  const isTooOld = serverVersion !== 0 && serverVersion < OLDEST_VERSION;
  const hasOtherEncoding = serverEncoding !== '' && serverEncoding !== ENCODING;
  if (!isTooOld && !hasOtherEncoding) return { runner, session };
  session.abandon();
  await runner.release();
  throw new Error(
    `it is PostgreSQL ${serverVersion} with the encoding ${serverEncoding}, ` +
      `and PostgreSQL ${OLDEST_VERSION} or later with the encoding ${ENCODING} is needed`,
  );
}

/**
 * Closes the pool of a failed attempt. If the login succeeds and the first query fails, TypeORM 1.1.1 leaves the pool
 * open, with its session. Nothing is awaited here, because the database may not answer.
 */
export function abandonPool(source: DataSource): void {
  const driver = source.driver as PostgresDriver;
  const pool: Pool | undefined = driver.master;
  if (!pool) return;
  driver.master = undefined;
  const usedRunners = [...driver.connectedQueryRunners]; // a copy, because `release` removes a runner from the list
  for (const runner of usedRunners) void runner.release();
  void pool.end();
}
