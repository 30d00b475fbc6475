import { Client, type ClientConfig } from 'pg';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { ConnectionFields } from '../configuration/database-url.js';
import { ENTITIES } from './entities.js';

/**
 * One for the keys, one for the codes, and one for the use of keys. With fewer a revoked key would wait for codes. With
 * more the pages that say how many sessions a replica needs would be wrong.
 */
const SESSIONS = 3;
const CONNECT_TIMEOUT_MS = 2_000;
/** The limit of a statement of polls and readings. An outage is noticed that much later. */
export const STATEMENT_TIMEOUT_MS = 2_000;
/** A little longer, since the server's message is more precise. */
const QUERY_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 500;
/** A session that nobody uses is closed. Those of polls are used all the time. */
const IDLE_TIMEOUT_MS = 30_000;
/** An older session is closed once it is idle. So another password or DNS entry counts within five minutes. */
const MAX_LIFETIME_SECONDS = 290;
/** How long a connection is silent until the kernel asks whether its other end is still there. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const;

/**
 * What statements and results depend on, whatever role, database and connection string say. It holds for one
 * transaction: behind a pooler the session is another client's afterwards. Objects of pg_catalog are found first, but a
 * function of others in public is preferred to one that takes any type: those are called by their schema.
 */
export const SETTINGS = `set local search_path = public, pg_temp;
  set local timezone = 'UTC';
  set local datestyle = 'ISO, MDY';
  set local intervalstyle = 'postgres';
  set local bytea_output = 'hex';
  set local extra_float_digits = 1;
  set local standard_conforming_strings = on;
  set local quote_all_identifiers = off`;

/** The limits of one transaction, in PostgreSQL's units; '0' is none. */
interface TransactionLimits {
  readonly statement: string;
  readonly lock: string;
  readonly idle: string;
  /** `off` makes a query fail that a policy would let see fewer rows. */
  readonly rowSecurity: 'on' | 'off';
}

/** The first version that has `transaction_timeout`. Older ones refuse it. */
const FIRST_WITH_TRANSACTION_TIMEOUT = 17;

/** SETTINGS and every limit of a transaction, so that none of role or database counts. No part takes a snapshot. */
export function settingsFor(session: Session, limits: TransactionLimits): string {
  const settings = [
    SETTINGS,
    `set local statement_timeout = '${limits.statement}'`,
    `set local lock_timeout = '${limits.lock}'`,
    `set local idle_in_transaction_session_timeout = '${limits.idle}'`,
    `set local row_security = ${limits.rowSecurity}`,
  ];
  if (session.serverVersion >= FIRST_WITH_TRANSACTION_TIMEOUT) settings.push('set local transaction_timeout = 0');
  return settings.join('; ');
}

/** What the pool of pg takes beside TypeORM's options, and hands to each session. */
interface ExtraOptions {
  readonly Client: typeof Session;
  readonly options: string | undefined;
  readonly query_timeout: number;
  readonly keepAlive: boolean;
  readonly keepAliveInitialDelayMillis: number;
  readonly idleTimeoutMillis: number;
  readonly maxLifetimeSeconds: number;
}

interface PoolOptions extends PostgresDataSourceOptions {
  readonly extra: ExtraOptions;
  /** For Nest: the first reading initializes the data source, since the service starts also without the database. */
  readonly manualInitialization: true;
}

/** Options of TypeORM for PostgreSQL, with fields and without `url`, beside which pg ignores a password function. */
export function poolOptions(fields: ConnectionFields): PoolOptions {
  const { user: username, options, application_name: applicationName, ...address } = fields;
  return {
    ...address,
    type: 'postgres',
    username,
    applicationName: applicationName ?? 'order-lookup-services',
    entities: ENTITIES,
    manualInitialization: true,
    poolSize: SESSIONS,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    // An idle session was lost. The pool opens another one, and the next poll says what is wrong
    poolErrorHandler: () => undefined,
    extra: {
      Client: Session,
      options,
      query_timeout: QUERY_TIMEOUT_MS,
      ...KEEP_ALIVE,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    },
  };
}

/** A message of PostgreSQL that pg hands on and has no type for. */
interface ParameterStatus {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** A connection to PostgreSQL that knows the version of its server, and whose loss at any moment ends no process. */
export class Session extends Client {
  /** The major version, as the server reports it when the session begins, also through a pooler. */
  serverVersion = 0;

  constructor(options: ClientConfig) {
    super(options);
    // Without a listener an error of a session that is in use would end the process. Its query fails as well
    this.on('error', () => undefined);
    this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
      if (parameterName === 'server_version') this.serverVersion = Number.parseInt(parameterValue, 10);
    });
  }
}
