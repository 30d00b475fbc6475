// The way to the database of the commands: its address, when it is tried again, and what to do where it cannot be used.
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { type ConnectionFields, type DatabaseAddress, parseDatabaseAddress } from '../../configuration/database-url.js';
import { toMessage } from '../../telemetry/error-message.js';
import { CliError } from './program.js';

/** How long a connection waits for an answer of the server. */
export const CONNECTION_LIMIT_MS = 10_000;
/** For how long it is tried again. A new pod's first connections may be refused until its node has applied the policies. */
const RETRY_LIMIT_MS = 10_000;
const RETRY_INTERVAL_MS = 200;
/** What the sessions of commands call themselves in `pg_stat_activity` and in the change history. */
export const APPLICATION = 'order-lookup-administration';

/** The oldest version of PostgreSQL that is tested. */
const OLDEST_VERSION = 14;
/** The encoding in which lengths and order are those of characters. */
const ENCODING = 'UTF8';
const VERSION_AND_ENCODING = `select current_setting('server_version_num')::int / 10000 as version,
  current_setting('server_encoding') as encoding`;

/**
 * After these errors the server may still come: Node.js's codes, and PostgreSQL's for a server that starts. A name that
 * nobody knows is not among them.
 */
const MAY_COME = /^(ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|57P03)$/;
const UNREACHABLE = /^E(CONN|HOST|NET|TIMEDOUT|NOTFOUND|AI_AGAIN)/;

/** What to do about an error, by its SQLSTATE or its code of Node.js. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'Correct role and password in DATABASE_URL, or set the password.',
  28000:
    'Create the role, let it log in (alter role NAME login) or in from here (pg_hba.conf); ' +
    'for TLS add sslmode=verify-full.',
  '3D000':
    "Correct the database in DATABASE_URL, or create it: create database NAME encoding 'UTF8' template template0;",
  53300: 'End connections (table pg_stat_activity), or raise the limit that was reached.',
  42501: 'Let the role in: grant connect on database NAME to ROLE;',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Write the host in DATABASE_URL as its certificate names it.',
};

const DEMO_REMEDY = 'Export it, or write it to .env, which npm run reads. For that of the demo: . .data/demo.env';

/** @throws CliError that names the variable, and no part of the connection string */
export function parseAddress(address: DatabaseAddress): ConnectionFields {
  try {
    return parseDatabaseAddress(address);
  } catch (error) {
    const isSet = Boolean(address.DATABASE_URL || address.DATABASE_URL_FILE);
    throw new CliError(isSet ? toMessage(error) : `${toMessage(error)}. ${DEMO_REMEDY}`);
  }
}

/** Names database, host and port, also where a default of pg counts, and nothing else. */
export function describeDatabase(fields: ConnectionFields): string {
  const { database, host, port } = new Client(fields);
  return `the database ${database} at ${host}:${port}`;
}

/**
 * Connects, and tries again for RETRY_LIMIT_MS where nobody listens yet.
 * @throws CliError that names database, host and port, with a remedy
 */
export async function untilReachable<T>(fields: ConnectionFields, connect: () => Promise<T>): Promise<T> {
  const endAtMs = performance.now() + RETRY_LIMIT_MS;
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      const isLate = performance.now() >= endAtMs;
      if (isLate || !MAY_COME.test(findCode(error))) throw unusableDatabase(fields, error);
    }
    await pause(RETRY_INTERVAL_MS);
  }
}

export async function assertSupported(session: Client): Promise<void> {
  const { rows } = await session.query<{ version: number; encoding: string }>(VERSION_AND_ENCODING);
  const [server] = rows;
  if (!server) throw new Error('the database does not name its version');
  const { version, encoding } = server;
  if (version >= OLDEST_VERSION && encoding === ENCODING) return;
  throw new Error(
    `it is PostgreSQL ${version} with the encoding ${encoding}, ` +
      `and PostgreSQL ${OLDEST_VERSION} or later with the encoding ${ENCODING} is needed`,
  );
}

/** The error of a database with which no work could begin. */
function unusableDatabase(fields: ConnectionFields, error: unknown): CliError {
  const subject = describeDatabase(fields).replace('the', 'The');
  return new CliError(`${subject} cannot be used: ${toMessage(error)}. ${adviceAgainst(findCode(error))}`);
}

function findCode(error: unknown): string {
  const { code = '' } = error as { readonly code?: string };
  return code;
}

function adviceAgainst(code: string): string {
  if (UNREACHABLE.test(code)) return 'Start the server, or correct host and port in DATABASE_URL.';
  return ADVICE[code] ?? 'Check DATABASE_URL and that the server runs.';
}
