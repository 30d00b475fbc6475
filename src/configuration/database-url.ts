import { isUtf8 } from 'node:buffer';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type ConnectionOptions as TlsOptions, createSecureContext } from 'node:tls';
import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { type ConnectionOptions, parse, toClientConfig } from 'pg-connection-string';
import { IS_QUOTED, isQuoted } from './configuration.js';
import { isLoopback } from './loopback.js';

/** The variables that name the database. Exactly one of them is needed. */
export type DatabaseAddress = Partial<Record<'DATABASE_URL' | 'DATABASE_URL_FILE', string>>;

/** The parts of a connection string that we use. Their names are those of pg's options. */
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

/** #, / and ? would end the password, and % begins an escape. We accept an @, but for psql it ends the password. */
const FORM =
  'a connection string such as postgres://user:password@host:5432/database is needed, ' +
  'with %40 for @, %2F for /, %3F for ?, %23 for # and %25 for % in user and password';

/** The parts of a connection string. `new URL` would throw for an unescaped password such as `pass/word`. */
const PARTS = /^\w+:\/\/(?<authority>[^/?]*)(?<path>[^?]*)\??(?<query>.*)$/s;
const SYSTEM_AUTHORITIES = /(?<=[?&])sslrootcert=system(?=&|$)/;
const SEVERAL_HOSTS_IN_PARAMETER = /[?&]host=[^&]*,/; // such as postgres:///orders?host=one.example,two.example

/** Parameters that may contain an @, such as `user=name@tenant`. */
const MAY_CONTAIN_AT = /^(application_name|options|password|user)=/;

/** @throws Error that says what is wrong in the two variables, without any part of a password */
export function parseDatabaseAddress(address: DatabaseAddress): ConnectionFields {
  const { DATABASE_URL: url = '', DATABASE_URL_FILE: file = '' } = address;
  if (file === '') return parseConnectionString(url, 'DATABASE_URL');
  if (url !== '') throw new Error('DATABASE_URL and DATABASE_URL_FILE are both set: unset one of them');
  const fields = parseFile(file);
  if (typeof fields.password !== 'string') return fields;
  // pg calls the function for each connection. So after somebody has rotated the password, the service needs no restart
  return { ...fields, password: createPasswordReader(file, fields.password) };
}

function parseFile(file: string): ConnectionFields {
  if (isQuoted(file)) throw new Error(`DATABASE_URL_FILE ${IS_QUOTED}`);
  const subject = `DATABASE_URL_FILE is "${file}": the`;
  const bytes = readOrThrow(
    () => readFileSync(file),
    ({ code, message }) => `${subject} file cannot be read (${code ?? message})`,
  );
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Error(`${subject} file is not in UTF-8: save it as UTF-8`);
  // trim() also removes a byte order mark
  return parseConnectionString(bytes.toString().trim(), `${subject} connection string in the file`);
}

/**
 * Returns the function that pg calls for the password. If the function threw, pg would leave the connection open for a
 * minute. So if the file cannot be read, the function returns the last password.
 */
function createPasswordReader(file: string, firstPassword: string): () => string {
  const logger = new Logger('Database');
  let password = firstPassword;
  return () => {
    try {
      const { password: current } = parseFile(file);
      if (typeof current === 'string') password = current;
    } catch (error) {
      logger.warn({ message: 'the password of the database cannot be read again', reason: (error as Error).message });
    }
    return password;
  };
}

function parseConnectionString(text: string, subject: string): ConnectionFields {
  if (text === '') throw new Error(`${subject} is not set: ${FORM}`);
  if (isQuoted(text)) throw new Error(`${subject} ${IS_QUOTED}`);
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error(`${subject} does not begin with postgres://: ${FORM}`);
  if (hasUnescapedDelimiter(text))
    throw new Error(`${subject} has an unescaped #, / or ? in user or password: ${FORM}`);
  if (hasSeveralHosts(text)) {
    throw new Error(`${subject} names several hosts: name one that leads to the primary, such as HAProxy or PgBouncer`);
  }
  const describe = (error: NodeJS.ErrnoException) => `${subject} ${describeFault(error)}`;
  // With this option, `parse` prints no warning about sslmode. If the text has uselibpqcompat, too, `parse` throws
  const useLibpqCompat = !text.includes('uselibpqcompat=');
  const parsed = readOrThrow(() => parse(replaceSystemAuthorities(text), { useLibpqCompat }), describe);
  if (SYSTEM_AUTHORITIES.test(text) && parsed.sslmode !== 'verify-full') {
    throw new Error(
      `${subject} has sslrootcert=system, which needs sslmode=verify-full: correct sslmode or leave it out`,
    );
  }
  const { password } = parsed; // not of `toClientConfig`, whose type also allows a function
  const { ssl, ...fields } = readOrThrow(() => toClientConfig(parsed), describe);
  const { host, port, user, database, options, application_name } = fields;
  const tls = toTlsOptions(ssl, parsed);
  if (typeof tls === 'object') assertCertificates(tls, subject);
  return { host, port, user, password, database, ssl: tls, options, application_name };
}

/** @throws Error if a certificate cannot be read. Node.js would ignore an unreadable CA, and refuse the right server */
function assertCertificates({ ca, cert, key }: TlsFields, subject: string): void {
  const needed = 'a PEM file in UTF-8 is needed, which begins with -----BEGIN';
  if (ca)
    readOrThrow(
      () => new X509Certificate(String(ca)),
      () => `${subject} has an sslrootcert without a certificate: ${needed}`,
    );
  readOrThrow(
    () => createSecureContext({ cert, key }),
    ({ message }) => `${subject} has an sslcert or sslkey that cannot be used (${message}): ${needed}`,
  );
}

/**
 * Returns whether the text contains a #, or whether its user or password contains an unescaped / or ?. If such a string
 * were parsed, messages would show a part of the password as the port.
 */
function hasUnescapedDelimiter(text: string): boolean {
  const { path = '', query = '' } = PARTS.exec(text)?.groups ?? {};
  if (text.includes('#')) return true;
  // postgres://user:12/secret@host/orders: the @ before the host is in the path
  if (path.includes('@')) return true;
  // postgres://user:12?a=secret@host/orders: the @ before the host is in a parameter
  return query.split('&').some((parameter) => parameter.includes('@') && !MAY_CONTAIN_AT.test(parameter));
}

function hasSeveralHosts(text: string): boolean {
  const { authority = '' } = PARTS.exec(text)?.groups ?? {};
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  return hosts.includes(',') || SEVERAL_HOSTS_IN_PARAMETER.test(text);
}

/**
 * Replaces `sslrootcert=system`, because pg would read a file `system`. `sslmode=verify-full` turns TLS on, with the
 * CAs of Node.js and NODE_EXTRA_CA_CERTS.
 */
function replaceSystemAuthorities(text: string): string {
  if (!SYSTEM_AUTHORITIES.test(text)) return text;
  // At the beginning, so that `parse` takes another sslmode from the text, if it has one
  return text.replace(SYSTEM_AUTHORITIES, '').replace('?', '?sslmode=verify-full&');
}

/**
 * Returns TLS options. We make the modes `require` and `prefer` as strict as `verify-full`. For these two modes
 * pg-connection-string returns options that switch checks off, so we take only `ca`, `cert` and `key` from them.
 */
function toTlsOptions(ssl: boolean | TlsFields | undefined, parsed: ConnectionOptions): ConnectionFields['ssl'] {
  const { sslmode } = parsed;
  // `parse` converts only true, 1 and 0. Any other text except `false` turns TLS on, such as ssl=require
  if (typeof parsed.ssl === 'string') return parsed.ssl !== 'false';
  if (typeof ssl !== 'object') return ssl;
  if (sslmode === 'verify-ca') return ssl; // verify-ca accepts every name, as in libpq
  const { ca, cert, key } = ssl;
  return { ca, cert, key, rejectUnauthorized: sslmode !== 'no-verify' };
}

/** Describes an error of pg-connection-string, which also reads the files of sslrootcert, sslcert and sslkey. */
function describeFault(error: NodeJS.ErrnoException): string {
  const { path, code, message } = error;
  if (path !== undefined) return `names the file ${path}, which cannot be read (${code})`;
  if (code === 'ERR_INVALID_URL' || error instanceof URIError) return `cannot be parsed: ${FORM}`;
  return `cannot be used: ${message}`;
}

function readOrThrow<T>(read: () => T, describe: (error: NodeJS.ErrnoException) => string): T {
  try {
    return read();
  } catch (error) {
    // oxlint-disable-next-line preserve-caught-error -- a cause would repeat the message, and may quote a password
    throw new Error(describe(error as NodeJS.ErrnoException));
  }
}

/** Returns a warning if the connection to another machine is not encrypted, except with sslmode=disable. */
export function findTransportWarning(address: DatabaseAddress): string | undefined {
  const fields = parseDatabaseAddress(address);
  const { host, ssl } = new Client(fields); // Client also reads PGHOST and PGSSLMODE
  if (fields.ssl !== undefined || ssl || isOnThisMachine(host)) return undefined;
  return (
    `the connection to the database at ${host} is not encrypted: add sslmode=verify-full to the connection string, ` +
    'and sslrootcert=FILE for a CA of your own; if no encryption is intended, set sslmode=disable'
  );
}

/** A host that begins with / is the folder of PostgreSQL's Unix socket. */
function isOnThisMachine(host: string): boolean {
  return host === '' || host.startsWith('/') || isLoopback(host);
}
