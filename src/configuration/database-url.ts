import { readFileSync } from 'node:fs';
import { Client } from 'pg';

/** The address of the database: exactly one of the two is set. */
export interface DatabaseAddress {
  readonly DATABASE_URL?: string | undefined;
  /** A file that holds the connection string. It is read for each connection, so that a rotated password takes effect. */
  readonly DATABASE_URL_FILE?: string | undefined;
}

const FORM = 'a connection string such as postgres://user:password@host:5432/database is needed';

/**
 * The current connection string. Files that it names can be read.
 * @throws Error with the fault of the two variables, without any part of a connection string, which may hold a password
 */
export function connectionString(address: DatabaseAddress): string {
  const { DATABASE_URL: url = '', DATABASE_URL_FILE: file = '' } = address;
  if (file === '') return checked('DATABASE_URL', url);
  if (url !== '')
    throw new Error(
      'DATABASE_URL is set, and so is DATABASE_URL_FILE: exactly one of the two is needed',
    );
  const subject = `DATABASE_URL_FILE is "${file}": the`;
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`${subject} file cannot be read (${code ?? message})`, { cause: error });
  }
  return checked(`${subject} connection string in the file`, text);
}

function checked(subject: string, text: string): string {
  if (text === '') throw new Error(`${subject} is not set: ${FORM}`);
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text))
    throw new Error(`${subject} is not a connection string of PostgreSQL: ${FORM}`);
  // pg verifies certificate and name with each of these modes, and writes a warning unless it is verify-full
  const url = text.includes('uselibpqcompat=true')
    ? text
    : text.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
  try {
    decodeURIComponent(text);
    void new Client({ connectionString: url });
    return url;
  } catch (error) {
    const { path, code, message } = error as NodeJS.ErrnoException;
    const fault = path
      ? `names the file ${path}, which cannot be read (${code})`
      : error instanceof URIError
        ? 'holds a % that begins no percent-encoded UTF-8: write %25 for a percent sign'
        : `cannot be used: ${message}`;
    throw new Error(`${subject} ${fault}`, { cause: error });
  }
}

export function databaseAddressFault(address: DatabaseAddress): string | undefined {
  try {
    connectionString(address);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Why others can read what passes between the service and the database, as a sentence, unless sslmode says that it is meant so. */
export function transportWarning(address: DatabaseAddress): string | undefined {
  const url = connectionString(address);
  const { host, ssl } = new Client({ connectionString: url });
  // No host: the socket of PostgreSQL, or localhost
  return ssl || /^(localhost|127(\.\d+){3}|::1|\/.*|)$/.test(host) || /[?&]sslmode=/.test(url)
    ? undefined
    : `the connection to the database at ${host} is not encrypted: add sslmode=verify-full to the connection string, and sslrootcert=FILE for a CA of your own; if no encryption is intended, set sslmode=disable`;
}
