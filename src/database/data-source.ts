// TypeORM's pool of sessions, and the two ways in which our programs use it.
import { Client, type Pool } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { ConnectionFields } from '../configuration/database-url.js';
import { ENTITIES } from './entities.js';
import { Session } from './session.js';

export interface DatabaseUse {
  /** The name of the program's sessions in `pg_stat_activity` and in the change history. */
  readonly application: string;
  /** The largest number of sessions. */
  readonly sessions: number;
  /** The limit of one attempt to connect. */
  readonly connectTimeoutMs: number;
  /**
   * The time for which failed attempts to connect are repeated; 0 means never. In a new pod, attempts may fail until
   * the node of the pod has applied the network policies.
   */
  readonly connectRetryMs: number;
  /** The limit for the answer to a query; 0 means no limit. */
  readonly queryTimeoutMs: number;
}

/**
 * At most three sessions are in use: one follows the keys, one follows the codes (followed-topic.ts), and one writes
 * when keys were last used. With fewer sessions, polls of keys could wait, so a revoked key would be accepted longer.
 */
export const SERVICE_USE: DatabaseUse = {
  application: 'order-lookup-services',
  sessions: 3, // if you change this number, correct docs/operators.md, too
  connectTimeoutMs: 2_000,
  connectRetryMs: 0, // followed-topic.ts tries again
  queryTimeoutMs: 2_500, // longer than statementMs of `poll`: PostgreSQL ends a query first, and its message says more
};

export const COMMAND_USE: DatabaseUse = {
  application: 'order-lookup-administration',
  sessions: 1,
  connectTimeoutMs: 10_000,
  connectRetryMs: 10_000,
  queryTimeoutMs: 0, // a migration may take minutes
};

/** The pool closes a session after this time without use. If you set it below POLL_INTERVAL_MS, each poll logs in. */
const IDLE_TIMEOUT_MS = 30_000;
/** The pool closes a session older than this. So a new password or DNS entry is used within five minutes. */
const MAX_LIFETIME_SECONDS = 290;
/** After this time without traffic, the kernel checks by TCP keep-alive whether the server still exists. */
const KEEP_ALIVE_MS = 5_000;
/** The oldest version of PostgreSQL that is tested. */
const OLDEST_VERSION = 14;
/** The only encoding that is accepted. In SQL_ASCII, for example, PostgreSQL counts and sorts bytes, not characters. */
const ENCODING = 'UTF8';

/** Returns `database NAME at HOST:PORT`, for messages. pg's Client fills in the parts that the address lacks. */
export function describeDatabase(fields: ConnectionFields): string {
  const { database, host, port } = new Client(fields);
  return `database ${database} at ${host}:${port}`;
}

/**
 * Returns TypeORM's options. Do not add a `url`: pg would then ignore `fields.password`. With DATABASE_URL_FILE, that
 * field is a function, which reads the password again for each connection.
 */
export function createSourceOptions(fields: ConnectionFields, use: DatabaseUse): PostgresDataSourceOptions {
  const { user: username, options, application_name: applicationName = use.application, ...address } = fields;
  return {
    ...address,
    type: 'postgres',
    username,
    applicationName,
    entities: ENTITIES,
    poolSize: use.sessions,
    connectTimeoutMS: use.connectTimeoutMs,
    // If an unused session is lost, nothing has to be done: the next use of the pool connects again
    poolErrorHandler: () => undefined,
    // TypeORM passes these options to pg's pool, and the pool to each session
    extra: {
      Client: Session,
      options,
      query_timeout: use.queryTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    },
  };
}

/** A session from the pool, and the TypeORM runner that uses it. Release the runner to give the session back. */
export interface BorrowedSession {
  readonly runner: QueryRunner;
  readonly session: Session;
}

/** Takes a session from the pool. Throws if the version or the encoding of its server is not supported. */
export async function borrowSession(source: DataSource): Promise<BorrowedSession> {
  const runner = source.createQueryRunner();
  const session: Session = await runner.connect();
  const { serverVersion, serverEncoding } = session;
  // If a pooler hides version and encoding, the version is 0, and the encoding is an empty text
  const isTooOld = serverVersion !== 0 && serverVersion < OLDEST_VERSION;
  const hasOtherEncoding = serverEncoding !== '' && serverEncoding !== ENCODING;
  if (!isTooOld && !hasOtherEncoding) return { runner, session };
  session.abandon();
  await runner.release();
  throw new Error(
    `the server is PostgreSQL ${serverVersion} with the encoding ${serverEncoding}, ` +
      `and PostgreSQL ${OLDEST_VERSION} or later with the encoding ${ENCODING} is needed`,
  );
}

/**
 * Closes the pool after `source.initialize()` has failed. If the login succeeds and the first query fails, TypeORM
 * 1.1.1 leaves the pool open, with its session. Nothing is awaited here, because the database may not answer.
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
