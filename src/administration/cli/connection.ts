// Opens the database for the commands. No other file of administration creates a `Database`.
import { DataSource } from 'typeorm';
import { type ConnectionFields, type DatabaseAddress, parseDatabaseAddress } from '../../configuration/database-url.js';
import { COMMAND_USE, describeDatabase, createSourceOptions } from '../../database/data-source.js';
import { Database, type Work } from '../../database/database.js';
import type { Session } from '../../database/session.js';
import { OperatorError, toMessage } from '../../telemetry/error-message.js';

const DEMO_REMEDY =
  'Export this variable, or write it into the file .env, which npm run reads. To use the database of the demo, run: ' +
  '. .data/demo.env';

/** @throws OperatorError that names the variable, but no part of the connection string, which has a password */
export function parseAddress(address: DatabaseAddress): ConnectionFields {
  try {
    return parseDatabaseAddress(address);
  } catch (error) {
    const isSet = Boolean(address.DATABASE_URL || address.DATABASE_URL_FILE);
    throw new OperatorError(isSet ? toMessage(error) : `${toMessage(error)}. ${DEMO_REMEDY}`);
  }
}

/** Returns the database as messages name it: `the database orders at db.example:5432`. */
export function describeTarget(address: DatabaseAddress): string {
  return `the ${describeDatabase(parseAddress(address))}`;
}

/** Runs the work with a `Database` that opens one session, and closes the session afterwards. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>, address: DatabaseAddress): Promise<T> {
  const fields = parseAddress(address);
  const database = new Database(new DataSource(createSourceOptions(fields, COMMAND_USE)), fields, COMMAND_USE);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Runs the work in one transaction that only reads. All its queries see the same snapshot. */
export function withReading<T>(work: Work<T>, address: DatabaseAddress): Promise<T> {
  return withDatabase((database) => database.within('read', work), address);
}

export function withWriting<T>(work: Work<T>, address: DatabaseAddress): Promise<T> {
  return withDatabase((database) => database.within('write', work), address);
}

export async function readColumn<T = string>(session: Session, text: string, values?: unknown[]): Promise<T[]> {
  const { rows } = await session.query<[T]>({ text, values, rowMode: 'array' });
  return rows.map(([first]) => first);
}

/** Returns the time of the database in milliseconds since the epoch. The service uses the same clock. */
export async function readClock(session: Session): Promise<number> {
  const [now] = await readColumn<Date>(session, 'select now()');
  if (now === undefined) throw new Error('PostgreSQL returned no time');
  return now.getTime();
}
