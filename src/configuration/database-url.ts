import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { checkConnectionString } from './connection-string.js';

/** Exactly one of the two is set. The file is read for each connection, so that a rotated password takes effect. */
export type DatabaseAddress = Partial<Record<'DATABASE_URL' | 'DATABASE_URL_FILE', string>>;

/**
 * The current connection string. Files that it names can be read.
 * @throws Error with the fault of the two variables, without any part of a password
 */
export function connectionString(address: DatabaseAddress): string {
  const { DATABASE_URL: url = '', DATABASE_URL_FILE: file = '' } = address;
  if (file === '') return check('DATABASE_URL', url);
  if (url !== '') throw new Error('DATABASE_URL is set, and so is DATABASE_URL_FILE: one of them is needed');
  const subject = `DATABASE_URL_FILE is "${file}": the`;
  return check(`${subject} connection string in the file`, read(file, subject));
}

function check(subject: string, text: string): string {
  try {
    return checkConnectionString(text);
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    throw new Error(`${subject} ${fault}`, { cause: error });
  }
}

function read(file: string, subject: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${subject} file cannot be read (${code ?? message})`, { cause: error });
  }
}

export function databaseAddressFault(address: DatabaseAddress): string | undefined {
  try {
    connectionString(address);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * That others can read what passes between the service and the database, as a sentence; undefined if they cannot, or if
 * sslmode says that it is meant so.
 */
export function transportWarning(address: DatabaseAddress): string | undefined {
  const url = connectionString(address);
  const { host, ssl } = new Client({ connectionString: url });
  if (ssl || isOnThisMachine(host) || url.includes('sslmode=')) return undefined;
  return (
    `the connection to the database at ${host} is not encrypted: add sslmode=verify-full to the connection string, ` +
    'and sslrootcert=FILE for a CA of your own; if no encryption is intended, set sslmode=disable'
  );
}

/** A folder is that of PostgreSQL's socket. */
function isOnThisMachine(host: string): boolean {
  if (host === '' || host === 'localhost' || host === '::1') return true;
  return host.startsWith('127.') || host.startsWith('/');
}
