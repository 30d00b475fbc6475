// One transaction with a connection of its own, as nearly all commands need it. Migrations need a session of several
// transactions: migrate/run-migrations.ts.
import type { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import type { ConnectionFields, DatabaseAddress } from '../../configuration/database-url.js';
import { DatabaseSessions } from '../../database/database-sessions.js';
import { explainError } from '../../database/explain-error.js';
import { type Session, poolOptions } from '../../database/session.js';
import { toMessage } from '../../telemetry/error-message.js';
import { APPLICATION, CONNECTION_LIMIT_MS, assertSupported, parseAddress, untilReachable } from './connection.js';
import { CliError } from './program.js';
import { LostConnection, hasEndedSession, isRefusal } from './session-end.js';
import { beginReading, beginWriting } from './settings.js';

/** COMMIT gets no answer where packets are swallowed or a synchronous standby is gone. */
const COMMIT_LIMIT_MS = 20_000;

/**
 * Works in SQL, or with the service's own readers: session and manager use the same transaction. An error of PostgreSQL
 * has to leave the work, since the transaction has failed with it; only what a savepoint protects may be caught.
 */
export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

interface TransactionOptions<T> {
  readonly begin: (session: Session) => string;
  readonly commits: boolean;
  readonly work: Work<T>;
  readonly address: DatabaseAddress;
}

/** Reads in one transaction, of one snapshot. What was read counts, also where the connection is lost afterwards. */
export function withReading<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginReading, commits: false, work, address });
}

export function withWriting<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting, commits: true, work, address });
}

/** What the work writes is never committed. */
export function withRollback<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  return inTransaction({ begin: beginWriting, commits: false, work, address });
}

async function inTransaction<T>({ begin, commits, work, address }: TransactionOptions<T>): Promise<T> {
  const fields = parseAddress(address);
  const source = createDataSource(fields);
  const sessions = new DatabaseSessions(source);
  try {
    await untilReachable(fields, () => sessions.withSession((session) => assertSupported(session)));
    return await sessions.withSession(async (session, manager) => {
      // What pg rejects a query with when the socket ends has no SQLSTATE: the event tells it from other errors
      let lost: unknown;
      session.once('error', (error) => {
        lost = error;
      });
      try {
        await session.query(begin(session));
        const result = await work(session, manager);
        if (commits) await commit(session);
        return result; // without COMMIT, PostgreSQL rolls back when the session is closed
      } catch (error) {
        if (error instanceof CliError) throw error;
        // PostgreSQL's own reason comes first: that of the socket says less
        if (hasEndedSession(error)) throw new LostConnection(error);
        throw lost === undefined ? error : new LostConnection(lost);
      }
    });
  } finally {
    await close(source);
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
