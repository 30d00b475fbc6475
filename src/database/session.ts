import { Client, type ClientConfig } from 'pg';
import type { ConnectionSettings } from './connection-settings.js';
import { ApiKey, AreaProperty, CodeListValue, CommunicationCode } from './entities.js';

/** One for the keys, one for the codes, and one for the use of keys. So none of them waits for another. */
const SESSIONS = 3;
const CONNECT_TIMEOUT_MS = 2_000;
/** A little longer than the server's own limit, whose message is more precise. */
const QUERY_TIMEOUT_MS = 2_500;
const IDLE_TIMEOUT_MS = 30_000;
/** Within five minutes another address, password or DNS entry counts: a session that is older ends when it is free. */
const MAX_LIFETIME_SECONDS = 290;
/** Finds peers that have vanished without a word. */
const KEEP_ALIVE_DELAY_MS = 5_000;

/**
 * What statements and results depend on, whatever role, database and connection string say. It holds for one
 * transaction: behind a pooler the session is another client's afterwards. Objects of pg_catalog are found first.
 */
export const SETTINGS = `set local search_path = public, pg_temp;
  set local timezone = 'UTC';
  set local datestyle = 'ISO, MDY';
  set local intervalstyle = 'postgres';
  set local bytea_output = 'hex';
  set local extra_float_digits = 1;
  set local standard_conforming_strings = on;
  set local quote_all_identifiers = off`;

/** Options of TypeORM for PostgreSQL. `extra` is for the pool of pg, which hands it on to each session. */
export const poolOptions = (connectionSettings: ConnectionSettings) => ({
  type: 'postgres' as const,
  entities: [CodeListValue, AreaProperty, CommunicationCode, ApiKey],
  manualInitialization: true, // by the first reading: the service starts also without the database
  poolSize: SESSIONS,
  connectTimeoutMS: CONNECT_TIMEOUT_MS,
  applicationName: 'order-lookup-services',
  // A free session has ended: the pool makes another one, and the next look at the database says what is wrong
  poolErrorHandler: () => undefined,
  extra: {
    Client: Session,
    connectionSettings,
    query_timeout: QUERY_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
  },
});

interface SessionOptions extends ClientConfig {
  readonly connectionSettings: ConnectionSettings;
}

/**
 * A connection to PostgreSQL, with the settings of the moment at which the pool makes it. The connection string may
 * hold any parameter of pg. But the limit of a query and keep-alive are ours: they tell that the database is away.
 */
export class Session extends Client {
  constructor({ connectionSettings, ...options }: SessionOptions) {
    super({
      ...options,
      ...connectionSettings.current,
      query_timeout: options.query_timeout,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    });
    // Without a listener an error of a session that is in use would end the process. Its query fails as well
    this.on('error', () => undefined);
  }
}
