import { readFileSync } from 'node:fs';
import { Client } from 'pg';

/** The address of the database: exactly one of the two is set. */
export interface DatabaseAddress {
  readonly DATABASE_URL?: string | undefined;
  /** A file that holds the connection string. It is read for each connection, so that a rotated password takes effect. */
  readonly DATABASE_URL_FILE?: string | undefined;
}

/**
 * The current connection string. Files that it names can be read.
 * @throws Error with the fault of the two variables, without any part of a connection string, which may hold a password
 */
export function connectionString({
  DATABASE_URL = '',
  DATABASE_URL_FILE = '',
}: DatabaseAddress): string {
  if (DATABASE_URL !== '' && DATABASE_URL_FILE !== '')
    throw new Error(
      'DATABASE_URL is set, and so is DATABASE_URL_FILE: exactly one of the two is needed',
    );
  const file = `DATABASE_URL_FILE is "${DATABASE_URL_FILE}": the`;
  let url = DATABASE_URL;
  try {
    if (DATABASE_URL_FILE !== '') url = readFileSync(DATABASE_URL_FILE, 'utf8').trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${file} file cannot be read (${code ?? message})`, { cause: error });
  }
  const fault = urlFault(url);
  if (fault !== undefined)
    throw new Error(
      `${DATABASE_URL_FILE === '' ? 'DATABASE_URL' : `${file} connection string in the file`} ${fault}`,
    );
  return strict(url);
}

/** The fault of the two variables, as a sentence. */
export function databaseAddressFault(address: DatabaseAddress): string | undefined {
  try {
    connectionString(address);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function urlFault(value: string): string | undefined {
  const form = 'a connection string such as postgres://user:password@host:5432/database is needed';
  if (value === '') return `is not set: ${form}`;
  if (!/^postgres(ql)?:\/\//.test(value) || !URL.canParse(value))
    return `is not a connection string of PostgreSQL: ${form}`;
  try {
    decodeURIComponent(value);
  } catch {
    return 'holds a % that begins no percent-encoded UTF-8: write %25 for a percent sign';
  }
  try {
    void new Client({ connectionString: strict(value) });
    return undefined;
  } catch (error) {
    const { path, code, message } = error as NodeJS.ErrnoException;
    return path
      ? `names the file ${path}, which cannot be read (${code})`
      : `cannot be used: ${message}`;
  }
}

/** pg verifies the certificate and the name with each of these modes, and writes a warning unless it is verify-full. */
const strict = (url: string): string =>
  url.includes('uselibpqcompat=true')
    ? url
    : url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');

/** Why others can read what passes between the service and the database, as a sentence, unless sslmode says that it is meant so. */
export function transportWarning(address: DatabaseAddress): string | undefined {
  const url = connectionString(address);
  const { host, ssl } = new Client({ connectionString: url });
  return ssl || isThisMachine(host) || /[?&]sslmode=/.test(url)
    ? undefined
    : `the connection to the database at ${host} is not encrypted: add sslmode=verify-full to the connection string, and sslrootcert=FILE for a CA of your own; if no encryption is intended, set sslmode=disable`;
}

/** No host: the socket of PostgreSQL, or localhost. */
export const isThisMachine = (host: string): boolean =>
  /^(localhost|127(\.\d+){3}|::1|\/.*|)$/.test(host);
