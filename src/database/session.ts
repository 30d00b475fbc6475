import type { ClientConfig } from 'pg';
import type { DataSource } from 'typeorm';

export const CONNECT_TIMEOUT_MS = 2_000;
/** A little longer than the server's own limit, which gives the better message. */
export const QUERY_TIMEOUT_MS = 9_000;

/** Time limits of a session at the server, set by statement: a connection pooler refuses them as parameters of the connection. */
export const SESSION_LIMITS = `set statement_timeout = '8s'; set lock_timeout = '2s'; set idle_in_transaction_session_timeout = '10s'`;

/** What all our connections share. The operating system's keep-alive finds peers that vanished. */
export const clientOptions = (databaseUrl: string): ClientConfig => ({
  connectionString: databaseUrl,
  application_name: 'order-lookup-services',
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 5_000,
});

/** What the server says of itself, asked once for each connection. */
export const SERVER_QUERY = `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;

export interface ServerFacts {
  readonly version: number;
  readonly encoding: string;
}

/** PostgreSQL 14 is the oldest version that the migrations and statements are written for; in other encodings than UTF8 lengths and order are those of bytes. */
export function assertSupported(facts: ServerFacts | undefined): void {
  const { version = 0, encoding = 'unknown' } = facts ?? {};
  if (version < 140_000)
    throw new Error(
      `PostgreSQL ${Math.floor(version / 10_000)} is too old: version 14 or later is needed`,
    );
  if (encoding !== 'UTF8')
    throw new Error(
      `the encoding of the database is ${encoding}: UTF8 is needed (create database … encoding 'UTF8')`,
    );
}

/** Cuts the connection of a client at once. A client that ran into its time limit still waits for the answer and must not be used again. */
export function destroyClient(client: unknown): void {
  (client as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

const initializing = new WeakMap<DataSource, Promise<unknown>>();

/** Initializes the data source, once however many ask. Unlike TypeORM's own retries this may fail and be tried again for ever. */
export async function initialized(dataSource: DataSource): Promise<DataSource> {
  if (dataSource.isInitialized) return dataSource;
  const pending =
    initializing.get(dataSource) ??
    dataSource.initialize().finally(() => initializing.delete(dataSource));
  initializing.set(dataSource, pending);
  await pending;
  return dataSource;
}
