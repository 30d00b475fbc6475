import { readFileSync } from 'node:fs';

/** The address of the database: exactly one of the two is set. */
export interface DatabaseAddress {
  readonly DATABASE_URL?: string | undefined;
  /** A file that holds the connection string. It is read for each connection, so that a rotated password takes effect. */
  readonly DATABASE_URL_FILE?: string | undefined;
}

/**
 * The current connection string.
 * @throws Error with the fault of the file
 */
export function connectionString({ DATABASE_URL, DATABASE_URL_FILE }: DatabaseAddress): string {
  if (!DATABASE_URL_FILE) return DATABASE_URL ?? '';
  let text: string;
  try {
    text = readFileSync(DATABASE_URL_FILE, 'utf8').trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      `DATABASE_URL_FILE is "${DATABASE_URL_FILE}": the file cannot be read (${code ?? message})`,
      { cause: error },
    );
  }
  const fault = urlFault(text);
  if (fault)
    throw new Error(
      `DATABASE_URL_FILE is "${DATABASE_URL_FILE}": the connection string in the file ${fault}`,
    );
  return text;
}

/** The fault of the two variables, as a sentence. It never quotes a connection string, which may hold a password. */
export function databaseAddressFault(address: DatabaseAddress): string | undefined {
  const { DATABASE_URL = '', DATABASE_URL_FILE = '' } = address;
  if (DATABASE_URL_FILE === '') {
    const fault = urlFault(DATABASE_URL);
    return fault && `DATABASE_URL ${fault}`;
  }
  if (DATABASE_URL !== '')
    return 'DATABASE_URL is set, and so is DATABASE_URL_FILE: exactly one of the two is needed';
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
  return isDecodable(value)
    ? undefined
    : 'holds a % that begins no percent-encoded UTF-8: write %25 for a percent sign';
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
