import { readFileSync } from 'node:fs';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { type ConnectionOptions, parse, toClientConfig } from 'pg-connection-string';
import { QUOTED, isQuoted } from './configuration.js';
import { isLoopback } from './loopback.js';

/** One is needed; parseDatabaseAddress refuses both. */
export type DatabaseAddress = Partial<Record<'DATABASE_URL' | 'DATABASE_URL_FILE', string>>;

/** What counts of a connection string, as options of pg. */
export interface ConnectionFields {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | (() => string) | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | TlsFields | undefined;
  readonly options?: string | undefined;
  readonly application_name?: string | undefined;
}

type TlsFields = Pick<TlsOptions, 'ca' | 'cert' | 'key' | 'rejectUnauthorized' | 'checkServerIdentity'>;

const FORM =
  'a connection string such as postgres://user:password@host:5432/database is needed, ' +
  'with %40 for @, %2F for /, %3F for ?, %23 for # and %25 for % in user and password';

/** Parameters whose value may hold an unescaped @, such as user=name@tenant. In any other it ends a password. */
const MAY_HOLD_AT = /^(application_name|options|password|user)=/;

/**
 * The fields of the connection string, which is parsed once. Where a file holds it, the password is read anew for each
 * connection, so that a rotated one counts.
 * @throws Error with the fault of the two variables, without any part of a password
 */
export function parseDatabaseAddress(address: DatabaseAddress): ConnectionFields {
  const { DATABASE_URL: url = '', DATABASE_URL_FILE: file = '' } = address;
  if (file === '') return parseConnectionString(url, 'DATABASE_URL');
  if (url !== '') throw new Error('DATABASE_URL is set, and so is DATABASE_URL_FILE: one of them is needed');
  const fields = parseFile(file);
  if (typeof fields.password !== 'string') return fields;
  return { ...fields, password: passwordReader(file, fields.password) };
}

function parseFile(file: string): ConnectionFields {
  if (isQuoted(file)) throw new Error(`DATABASE_URL_FILE ${QUOTED}`);
  const subject = `DATABASE_URL_FILE is "${file}": the`;
  const text = attempt(
    () => readFileSync(file, 'utf8').trim(),
    ({ code, message }) => `${subject} file cannot be read (${code ?? message})`,
  );
  return parseConnectionString(text, `${subject} connection string in the file`);
}

/**
 * It never throws: pg would leave a connection open whose password it does not get, until PostgreSQL closes it a minute
 * later. With the former password PostgreSQL refuses the login, or it is still the right one.
 */
function passwordReader(file: string, first: string): () => string {
  const logger = new Logger('Database');
  let password = first;
  return () => {
    try {
      const { password: current } = parseFile(file);
      if (typeof current === 'string') password = current;
    } catch (error) {
      logger.warn({ message: 'the password of the database cannot be read anew', reason: (error as Error).message });
    }
    return password;
  };
}

function parseConnectionString(text: string, subject: string): ConnectionFields {
  if (text === '') throw new Error(`${subject} is not set: ${FORM}`);
  if (isQuoted(text)) throw new Error(`${subject} ${QUOTED}`);
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error(`${subject} is not one of PostgreSQL: ${FORM}`);
  if (hasLooseSign(text)) throw new Error(`${subject} has a sign in user or password that ends it: ${FORM}`);
  const describe = (error: NodeJS.ErrnoException) => `${subject} ${describeFault(error)}`;
  const useLibpqCompat = !text.includes('uselibpqcompat='); // it throws if the option and the parameter are both given
  const parsed = attempt(() => parse(text, { useLibpqCompat }), describe);
  if (parsed.host?.includes(','))
    throw new Error(`${subject} names several hosts: name one that leads to the primary, such as HAProxy or PgBouncer`);
  const { host, port, user, database, ssl } = attempt(() => toClientConfig(parsed), describe);
  const { password, options, application_name } = parsed;
  return { host, port, user, password, database, ssl: toTlsOptions(ssl, parsed), options, application_name };
}

/**
 * Whether an unescaped sign in user or password ended it, so that its rest counts as a path, a parameter or a fragment:
 * of `postgres://u:12?a=secret@db.example/x` the host would be `u`, and messages name the host.
 */
function hasLooseSign(text: string): boolean {
  const [, ...queries] = text.split('?');
  const parameters = queries.join('?').split('&');
  const hasAtInPath = /^\w+:\/\/[^/?]*\/[^?]*@/.test(text);
  const hasAtInParameter = parameters.some((parameter) => parameter.includes('@') && !MAY_HOLD_AT.test(parameter));
  return text.includes('#') || hasAtInPath || hasAtInParameter;
}

/**
 * `require` and `prefer` verify certificate and name, as `verify-full` does, and `verify-ca` the certificate alone, as
 * in libpq. Libpq's form is asked for since pg-connection-string warns of these modes in its own. In libpq's form it
 * sets for `require` a `checkServerIdentity` that accepts every name, so that field is left out.
 */
function toTlsOptions(ssl: boolean | TlsFields | undefined, parsed: ConnectionOptions): ConnectionFields['ssl'] {
  const { sslmode } = parsed;
  if (typeof parsed.ssl === 'string') return parsed.ssl !== 'false'; // such as JDBC's ssl=require
  if (typeof ssl !== 'object' || sslmode === 'verify-ca') return ssl;
  const { ca, cert, key } = ssl;
  return { ca, cert, key, rejectUnauthorized: sslmode !== 'no-verify' };
}

/** pg-connection-string reads the files that a connection string names. */
function describeFault(error: NodeJS.ErrnoException): string {
  const { path, code, message } = error;
  if (path !== undefined) return `names the file ${path}, which cannot be read (${code})`;
  if (code === 'ERR_INVALID_URL' || error instanceof URIError) return `cannot be parsed: ${FORM}`;
  return `cannot be used: ${message}`;
}

function attempt<T>(read: () => T, describe: (error: NodeJS.ErrnoException) => string): T {
  try {
    return read();
  } catch (error) {
    // oxlint-disable-next-line preserve-caught-error -- a cause would say the same again, and may quote a password
    throw new Error(describe(error as NodeJS.ErrnoException));
  }
}

/**
 * That others can read what passes between the service and the database, as a sentence; undefined if they cannot, or if
 * sslmode says that it is meant so.
 */
export function transportWarning(address: DatabaseAddress): string | undefined {
  const fields = parseDatabaseAddress(address);
  const { host, ssl } = new Client(fields); // also PGHOST and PGSSLMODE count
  if (fields.ssl !== undefined || ssl || isOnThisMachine(host)) return undefined;
  return (
    `the connection to the database at ${host} is not encrypted: add sslmode=verify-full to the connection string, ` +
    'and sslrootcert=FILE for a CA of your own; if no encryption is intended, set sslmode=disable'
  );
}

/** A folder is that of PostgreSQL's socket. */
function isOnThisMachine(host: string): boolean {
  return host === '' || host.startsWith('/') || isLoopback(host);
}
