import { Client, DatabaseError } from 'pg';
import {
  SERVER_QUERY,
  type ServerFacts,
  assertSupported,
  clientOptions,
} from '../../database/session.js';
import { describe } from '../../telemetry/repeated-failure.js';

/** Longer than the service's: nobody else is served meanwhile, and a command that is run once has no second attempt. */
const CONNECT_TIMEOUT_MS = 10_000;

/** A fault of the operator's surroundings or input: told in one line, without a stack. */
export class AdministrationError extends Error {}

/**
 * A session with the database that DATABASE_URL names.
 * @throws AdministrationError that says what is wrong with the variable, the server or its version
 */
export async function connect(environment: NodeJS.ProcessEnv = process.env): Promise<Client> {
  const { DATABASE_URL: url } = environment;
  if (!url)
    throw new AdministrationError(
      'DATABASE_URL is not set: a connection string such as postgres://user:password@host:5432/database is needed.',
    );
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new AdministrationError(
      'DATABASE_URL is not a connection string of PostgreSQL: postgres://user:password@host:5432/database is needed.',
    );
  }
  const { hostname, port, pathname } = new URL(url);
  const client = new Client({
    ...clientOptions(url),
    application_name: 'order-lookup-administration',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined); // the query that waits fails with the same reason
  try {
    await client.connect();
    const { rows } = await client.query<ServerFacts>(SERVER_QUERY);
    assertSupported(rows[0]);
    // The server notices a killed migration in the middle of a statement, and gives its locks free. Not every platform can.
    await client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw new AdministrationError(
      `The database ${pathname.slice(1)} at ${hostname}:${port || 5432} cannot be used: ${describe(error)}. Check DATABASE_URL and that the server runs.`,
    );
  }
}

const UNDEFINED_TABLE = '42P01';

/** Runs a command and ends the process with its status; a fault of the operator's or the database's is told without a stack, with status 1. */
export async function runCommand(command: () => Promise<number | void>): Promise<void> {
  try {
    process.exitCode = (await command()) ?? 0;
  } catch (error) {
    const known =
      error instanceof AdministrationError ||
      (error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS');
    const refusal =
      error instanceof DatabaseError
        ? `PostgreSQL refused this: ${error.message}${remedyOf(error)}`
        : undefined;
    process.stderr.write(
      `${refusal ?? (known ? (error as Error).message : ((error as Error).stack ?? String(error)))}\n`,
    );
    process.exitCode = 1;
  }
}

const remedyOf = ({ code }: DatabaseError): string =>
  code === UNDEFINED_TABLE ? '. Apply the migrations first: migrate up' : '';
