// The sessions of a program: TypeORM's pool, and the two ways in which programs use it.
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
  /** How long a server that may still come is tried again; 0 means once. */
  readonly patienceMs: number;
  /** The limit for the answer to a query; 0 means no limit. */
  readonly answerMs: number;
}

/**
 * One session for the keys, one for the codes, and one for the last use of keys. With fewer, a revoked key would wait
 * until codes are read. If you raise `sessions`, correct the number in docs/operators.md, too.
 */
export const SERVICE: DatabaseUse = {
  application: 'order-lookup-services',
  sessions: 3,
  connectMs: 2_000,
  patienceMs: 0, // each caller tries again by itself
  answerMs: 2_500, // longer than the limit of a statement, because PostgreSQL's message says more
};

/** A new pod's first connections may be refused until its node has applied the network policies. */
export const COMMAND: DatabaseUse = {
  application: 'order-lookup-administration',
  sessions: 1,
  connectMs: 10_000,
  patienceMs: 10_000,
  answerMs: 0, // a migration may take minutes
};

/** A session that is idle for so long is closed. Polls never let theirs be idle. */
const IDLE_TIMEOUT_MS = 30_000;
/** An older session is closed when it is idle. So a new password or DNS entry is used within five minutes. */
const MAX_LIFETIME_SECONDS = 290;
/** A connection that is silent for so long is probed by the kernel. */
const KEEP_ALIVE_MS = 5_000;
/** The oldest version of PostgreSQL that is tested. */
const OLDEST_VERSION = 14;
/** In this encoding, lengths and orders are those of characters. */
const ENCODING = 'UTF8';

/** Returns database, host and port, also those that pg takes by default. The result has no credential. */
export function describeDatabase(fields: ConnectionFields): string {
  const { database, host, port } = new Client(fields);
  return `database ${database} at ${host}:${port}`;
}

/** Returns TypeORM's options. They have fields and no `url`, because beside a `url` pg ignores a password function. */
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
    // An idle session was lost. The next use connects again, and says what is wrong.
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

/** @throws Error if version or encoding are not supported */
export async function openRunner(source: DataSource): Promise<Connected> {
  const runner = source.createQueryRunner();
  const session: Session = await runner.connect();
  const { serverVersion, serverEncoding } = session;
  const isSupported = serverVersion === 0 || serverVersion >= OLDEST_VERSION;
  const isEncoded = serverEncoding === '' || serverEncoding === ENCODING;
  if (isSupported && isEncoded) return { runner, session };
  session.abandon();
  await runner.release();
  throw new Error(
    `it is PostgreSQL ${serverVersion} with the encoding ${serverEncoding}, ` +
      `and PostgreSQL ${OLDEST_VERSION} or later with the encoding ${ENCODING} is needed`,
  );
}

/**
 * TypeORM 1.1.1 keeps the pool of an attempt that failed after the login, with a session in use, and the next attempt
 * makes another pool. Nothing is awaited: if the database does not answer, the next attempt must not wait for it.
 */
export function abandonPool(source: DataSource): void {
  const driver = source.driver as PostgresDriver;
  const pool: Pool | undefined = driver.master;
  if (!pool) return;
  driver.master = undefined;
  const usedRunners = [...driver.connectedQueryRunners]; // a copy: each removes itself from TypeORM's list
  for (const runner of usedRunners) void runner.release();
  void pool.end();
}
