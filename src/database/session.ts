// Every connection to PostgreSQL is made here: by the pool, by the watch for changes, and by the commands. Whatever becomes of it, and whenever,
// no process ends of it: its errors have a listener from the moment it exists, and whoever waits for an answer is told by that.
import { Client, type ClientConfig } from 'pg';
import { type DatabaseAddress, connectionString } from '../configuration/database-url.js';

export const CONNECT_TIMEOUT_MS = 2_000;
/** A little longer than the server's own limit, which gives the better message. */
export const QUERY_TIMEOUT_MS = 9_000;

/**
 * Begins a transaction whose statements all see one moment, and sets what they depend on, in it alone: behind a pooler the session is
 * another client's after it. A role or database may have set any of these otherwise.
 */
export const BEGIN_READING = `begin isolation level repeatable read, read only;
  set local statement_timeout = '8s'; set local lock_timeout = '2s'; set local idle_in_transaction_session_timeout = '10s';
  set local search_path = pg_catalog, public, pg_temp; set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex';
  set local row_security = off; set local jit = off; set local synchronous_commit = off`;

export interface SessionOptions extends ClientConfig {
  readonly address: DatabaseAddress;
  /** Holds the session for as long as it is open. */
  readonly sessions?: Set<Session>;
}

export class Session extends Client {
  private readonly fault: Error | undefined;

  constructor(options: SessionOptions) {
    const { address, sessions } = options;
    const found = attempt(() => connectionString(address));
    super({
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // The operating system's keep-alive finds peers that vanished
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
      ...options,
      application_name: options.application_name ?? 'order-lookup-services', // the pool passes undefined
      connectionString: found instanceof Error ? 'postgres://' : found,
    });
    this.fault = found instanceof Error ? found : undefined;
    this.on('error', () => undefined);
    sessions?.add(this);
    this.once('end', () => sessions?.delete(this));
  }

  override connect(): Promise<Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<Client> | void {
    if (!this.fault) return callback ? super.connect(callback) : super.connect();
    this.emit('end');
    if (!callback) return Promise.reject(this.fault);
    setImmediate(callback, this.fault);
  }

  /** Cuts it at once. A session that ran into its time limit still waits for the answer and must not be used again. */
  destroy(): void {
    void this.end(); // so that the pool takes it back no more
    (
      this as unknown as { connection: { stream: { destroy(): void } } }
    ).connection.stream.destroy();
  }
}

function attempt<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error as Error;
  }
}

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
