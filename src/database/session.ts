// Every connection to PostgreSQL is made here: for the pool and the commands. An error of a connection never ends the
// process: each connection has an error listener from the moment it exists, and a query that waits for an answer fails.
import { Client, type ClientConfig } from 'pg';
import { type DatabaseAddress, connectionString } from '../configuration/database-url.js';

export const CONNECT_TIMEOUT_MS = 2_000;
/** A little longer than the server's own limit, because the server's error message is more precise. */
export const QUERY_TIMEOUT_MS = 2_500;

/**
 * Begins a transaction whose statements see the same snapshot, and sets the settings they depend on, for this transaction only: behind a
 * pooler the session belongs to another client afterwards. A role or database may have other defaults for these settings. Without
 * scans and sorts of whole tables the plans are good also for a table that was never analyzed.
 */
export const BEGIN_READING = `begin isolation level repeatable read, read only, not deferrable;
  set local statement_timeout = '2s'; set local lock_timeout = '1s'; set local idle_in_transaction_session_timeout = '10s';
  set local search_path = pg_catalog, public, pg_temp; set local timezone = 'UTC'; set local datestyle = 'ISO'; set local bytea_output = 'hex';
  set local extra_float_digits = 1; set local standard_conforming_strings = on; set local row_security = off; set local jit = off;
  set local synchronous_commit = off; set local enable_seqscan = off; set local enable_sort = off`;

export interface SessionOptions extends ClientConfig {
  readonly address: DatabaseAddress;
}

export class Session extends Client {
  private readonly fault: Error | undefined;

  constructor(options: SessionOptions) {
    const { address } = options;
    const found = attempt(() => connectionString(address));
    super({
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // TCP keep-alive detects peers that have vanished
      keepAlive: true,
      keepAliveInitialDelayMillis: 5_000,
      ...options,
      application_name: options.application_name ?? 'order-lookup-services', // the pool passes undefined
      connectionString: found instanceof Error ? 'postgres://' : found,
    });
    this.fault = found instanceof Error ? found : undefined;
    this.on('error', () => undefined);
  }

  override connect(): Promise<Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<Client> | void {
    const { fault } = this;
    if (!fault) return callback ? super.connect(callback) : super.connect().then(() => this);
    if (!callback) return Promise.reject(fault);
    setImmediate(callback, fault);
  }

  /** Closes it at once. A session that reached its time limit still waits for the answer and must not be used again. */
  destroy(): void {
    void this.end(); // so that the pool does not take it back
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

/** Facts about the server, read once for each connection. */
export const SERVER_QUERY = `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;

export interface ServerFacts {
  readonly version: number;
  readonly encoding: string;
}

/** The migrations and statements need PostgreSQL 14. With an encoding other than UTF8, lengths and order are those of bytes. */
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
