import { readFileSync } from 'node:fs';
import { Client } from 'pg';

/** Exactly one of the two is set. The file is read for each connection, so that a rotated password takes effect. */
export type DatabaseAddress = Partial<Record<'DATABASE_URL' | 'DATABASE_URL_FILE', string>>;

const FORM = 'a connection string such as postgres://user:password@host:5432/database is needed';

/**
 * The current connection string. Files that it names can be read.
 * @throws Error with the fault of the two variables, without any part of a connection string, which may hold a password
 */
export function connectionString(address: DatabaseAddress): string {
  const { DATABASE_URL: url = '', DATABASE_URL_FILE: file = '' } = address;
  if (file === '') return checked('DATABASE_URL', url);
  if (url !== '')
    throw new Error('DATABASE_URL is set, and so is DATABASE_URL_FILE: one of them is needed');
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

/** A user without a host, before `?host=` with the folder of a socket: valid for PostgreSQL, not for URL. */
const NO_HOST = /^(postgres(?:ql)?:\/\/[^/@?#]*@)(?=\/[^@]*$)/;
const SEVERAL_HOSTS =
  /^postgres(ql)?:\/\/([^/?#]*@)?[\w.:[\]-]*,[\w.:,[\]-]*([/?]|$)|[?&]host=[^&]*(,|%2c)/i;
/** Options of libpq that pg ignores although they promise security or name another server. */
const IGNORED =
  /^((channel_binding|gssencmode)=require|(require_auth|requirepeer|sslcrl|sslcrldir|service)=.+|sslrootcert=system)$/;

function checked(subject: string, text: string): string {
  // pg verifies certificate and name with each of the modes, and warns. With verify-ca it can do as libpq does: the certificate only
  const verifying = text
    .replace(/([?&]sslmode=)(prefer|require)(?=&|$)/, '$1verify-full')
    .replace(/[?&]sslmode=verify-ca(?=&|$)/, '$&&uselibpqcompat=true');
  const url = text.includes('uselibpqcompat=true') ? text : verifying;
  const fault = faultOf(text, url);
  if (fault !== undefined) throw new Error(`${subject} ${fault}`);
  return url;
}

const SCHEME = /^postgres(?:ql)?:\/\//;

/**
 * Whether user and password may have been split wrongly: `@` stands once at most, and before each other sign. Else parts
 * of a password would be taken for a host, a port or a database, and messages name those.
 */
function isSplitWrongly(text: string): boolean {
  const address = text.replace(SCHEME, '');
  const [authority = '', ...others] = address.split(/[/?#]/);
  const isLater = others.some((part) => part.includes('@'));
  return isLater || authority.split('@').length > 2;
}

function faultOf(text: string, url: string): string | undefined {
  if (text === '') return `is not set: ${FORM}`;
  if (SCHEME.test(text) && isSplitWrongly(text))
    return 'holds a sign of a password that ends it too early: write %40 for @, %2F for /, %23 for # and %3F for ?';
  if (SEVERAL_HOSTS.test(text))
    return 'names several hosts: name one that leads to the primary, such as HAProxy or PgBouncer before Patroni';
  const address = text.replace(NO_HOST, '$1localhost');
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(address))
    return `is not a connection string of PostgreSQL: ${FORM}`;
  const options = [...new URL(address).searchParams].map((option) => option.join('='));
  const ignored = options.find((option) => IGNORED.test(option));
  if (ignored !== undefined)
    return `holds ${ignored}, which has no effect: remove it. Name host and database, and sslmode=verify-full to verify the server`;
  try {
    decodeURIComponent(text);
    void new Client({ connectionString: url });
    return undefined;
  } catch (error) {
    const { path, code, message } = error as NodeJS.ErrnoException;
    if (path) return `names the file ${path}, which cannot be read (${code})`;
    return error instanceof URIError
      ? 'holds a % that begins no percent-encoded UTF-8: write %25 for a percent sign'
      : `cannot be used: ${message}`;
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
