// One transaction with a connection of its own, as nearly all commands need it. Migrations need a session of several
// transactions: migrate/run-migrations.ts.
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { type ConnectionFields, type DatabaseAddress, parseDatabaseAddress } from '../../configuration/database-url.js';
import { DatabaseSessions } from '../../database/database-sessions.js';
import { explainError } from '../../database/explain-error.js';
import { type Session, poolOptions } from '../../database/session.js';
import { toMessage } from '../../telemetry/error-message.js';
import { CliError } from './program.js';
import { LostConnection, hasEndedSession, isRefusal } from './session-end.js';
import { beginReading, beginWriting } from './settings.js';

/** How long a connection waits for an answer of the server. A new pod's first connections may be refused until its node has applied the policies. */
export const CONNECTION_LIMIT_MS = 10_000;
const RETRY_INTERVAL_MS = 200;
/** COMMIT gets no answer where packets are swallowed or a synchronous standby is gone. */
const COMMIT_LIMIT_MS = 20_000;
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

/**
 * Works in SQL, or with the service's own readers: session and manager use the same transaction. An error of PostgreSQL
 * has to leave the work, since the transaction has failed with it; only what a savepoint protects may be caught.
 */
export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

interface TransactionOptions<T> {
  readonly begin: (session: Session) => string;
  readonly isCommitted: boolean;
  readonly work: Work<T>;
  readonly address: DatabaseAddress;
}

/** Reads in one transaction, of one snapshot. What was read counts, also where the connection is lost afterwards. */
export function withReading<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginReading, isCommitted: false, work, address });
}

export function withWriting<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting, isCommitted: true, work, address });
}

/** What the work writes is never committed. */
export function withRollback<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting, isCommitted: false, work, address });
}

async function inTransaction<T>({ begin, isCommitted, work, address }: TransactionOptions<T>): Promise<T> {
  const fields = parseAddress(address);
  const source = createDataSource(fields);
  const sessions = new DatabaseSessions(source);
  try {
    await untilReachable(fields, () => sessions.withSession((_manager, session) => assertSupported(session)));
    return await sessions.withSession(async (manager, session) => {
      let lost: unknown;
      session.once('error', (error) => {
        lost = error;
      });
      try {
        await session.query(begin(session));
        const result = await work(session, manager);
        if (isCommitted) await commit(session);
        return result; // without COMMIT, PostgreSQL rolls back when the session is closed
      } catch (error) {
        if (error instanceof CliError) throw error;
        if (hasEndedSession(error)) throw new LostConnection(error);
        throw lost === undefined ? error : new LostConnection(lost);
      }
    });
  } finally {
    await close(source);
  }
}

/**
 * Connects, and tries again for ten seconds where nobody listens yet.
 * @throws CliError that names database, host and port, with a remedy
 */
export async function untilReachable<T>(fields: ConnectionFields, connect: () => Promise<T>): Promise<T> {
  const endAtMs = performance.now() + CONNECTION_LIMIT_MS;
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

/** @throws CliError where it is not known whether the transaction counts */
async function commit(session: Session): Promise<void> {
  const query = { text: 'commit', query_timeout: COMMIT_LIMIT_MS };
  const answer = await session.query(query).catch((error: unknown) => {
    if (isRefusal(error)) throw error; // PostgreSQL has rolled back
    throw new CliError(
      `COMMIT got no answer (${toMessage(explainError(error))}): it is not known whether the change was made. ` +
        'Look at the database before you repeat the command.',
    );
  });
  // PostgreSQL answers ROLLBACK, without an error, where a statement of the transaction failed
  if (answer.command !== 'COMMIT') throw new Error('PostgreSQL rolled back, since a statement had failed');
}

/** @throws CliError that names the variable, and no part of the connection string */
export function parseAddress(address: DatabaseAddress): ConnectionFields {
  try {
    return parseDatabaseAddress(address);
  } catch (error) {
    throw new CliError(toMessage(error));
  }
}

/** Names database, host and port, also where a default of pg counts, and nothing else. */
export function describeDatabase(fields: ConnectionFields): string {
  const { database, host, port } = new Client(fields);
  return `the database ${database} at ${host}:${port}`;
}

/** The first column of the rows. */
export async function readColumn<T = string>(client: Client, text: string, values?: unknown[]): Promise<T[]> {
  const { rows } = await client.query<[T]>({ text, values, rowMode: 'array' });
  return rows.map(([first]) => first);
}

/** In milliseconds since the epoch, by the clock of the database, by which the service goes, too. */
export async function readClock(session: Client): Promise<number> {
  const [now] = await readColumn<Date>(session, 'select now()');
  if (now === undefined) throw new Error('the database does not tell the time');
  return now.getTime();
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

function createDataSource(fields: ConnectionFields): DataSource {
  const options = poolOptions(fields);
  return new DataSource({
    ...options,
    extra: {
      ...options.extra,
      connectionTimeoutMillis: CONNECTION_LIMIT_MS,
      query_timeout: 0, // the service's limit is for its short queries; a statement of a command may take minutes
    },
    applicationName: fields.application_name ?? APPLICATION,
  });
}

/** The work is done, so a connection that cannot be closed is nobody's fault. */
async function close(source: DataSource): Promise<void> {
  try {
    await source.destroy();
  } catch {
    // It was lost before
  }
}
