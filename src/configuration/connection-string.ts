import { Client } from 'pg';

export const FORM = 'a connection string such as postgres://user:password@host:5432/database is needed';
const SCHEME = /^postgres(ql)?:\/\//;

/** Options of libpq that pg ignores although they promise security or name another server; by their value or any. */
const IGNORED_OPTIONS: readonly { readonly name: string; readonly value?: string }[] = [
  { name: 'channel_binding', value: 'require' },
  { name: 'gssencmode', value: 'require' },
  { name: 'sslrootcert', value: 'system' },
  { name: 'require_auth' },
  { name: 'requirepeer' },
  { name: 'sslcrl' },
  { name: 'sslcrldir' },
  { name: 'service' },
];

interface Parts {
  /** Scheme, and user and password with their `@`. */
  readonly beforeHosts: string;
  readonly hosts: string;
  readonly path: string;
  readonly options: URLSearchParams;
}

/**
 * A connection string as pg reads it.
 * @throws Error that continues a sentence on the text, without any part of a password
 */
export function checkConnectionString(text: string): string {
  if (text === '') throw new Error(`is not set: ${FORM}`);
  if (!SCHEME.test(text)) throw new Error(`is not a connection string of PostgreSQL: ${FORM}`);
  if (hasLooseSign(text))
    throw new Error(
      'has a sign in the user or the password that separates parts: ' +
        'write %40 for @, %2F for /, %3F for ? and %23 for #',
    );
  const parts = split(text);
  assertOneHost(parts);
  if (!URL.canParse(withHost(parts))) throw new Error(`is not a connection string of PostgreSQL: ${FORM}`);
  assertNoIgnoredOption(parts);
  const connectionString = withVerifiedServer(text, parts);
  assertUsable(connectionString);
  return connectionString;
}

/** Whether user or password hold a sign that ends the part before them. Then a part of a password looks like a host. */
function hasLooseSign(text: string): boolean {
  const rest = text.replace(SCHEME, '');
  const authority = untilFirstOf('/?#', rest);
  const afterwards = rest.slice(authority.length);
  const signs = authority.split('@').length - 1;
  if (signs > 1 || afterwards.includes('#')) return true; // PostgreSQL has no fragments
  const path = untilFirstOf('?', afterwards);
  const query = afterwards.slice(path.length + 1);
  const optionNames = query.split('&').map((option) => untilFirstOf('=', option));
  if ([path, ...optionNames].some((part) => part.includes('@'))) return true;
  // A host with a port that is no number is a user with the beginning of a password
  const isCredentials = signs === 0 && /:.*\D/.test(authority.replace(/^\[[^\]]*\]/, ''));
  return isCredentials && afterwards.includes('@');
}

function split(text: string): Parts {
  const [scheme = ''] = SCHEME.exec(text) ?? [];
  const rest = text.slice(scheme.length);
  const authority = untilFirstOf('/?#', rest);
  const path = untilFirstOf('?#', rest.slice(authority.length));
  const query = rest.slice(authority.length + path.length);
  const hostsBegin = authority.lastIndexOf('@') + 1;
  return {
    beforeHosts: scheme + authority.slice(0, hostsBegin),
    hosts: authority.slice(hostsBegin),
    path,
    options: new URLSearchParams(query),
  };
}

function untilFirstOf(signs: string, text: string): string {
  let end = 0;
  while (end < text.length && !signs.includes(text.charAt(end))) end += 1;
  return text.slice(0, end);
}

function assertOneHost({ hosts, options }: Parts): void {
  const named = [hosts, ...options.getAll('host')];
  if (!named.some((host) => host.includes(','))) return;
  throw new Error(
    'names several hosts: name one that leads to the primary, such as HAProxy or PgBouncer before Patroni',
  );
}

/** PostgreSQL allows an address without a host, before `?host=` with the folder of a socket. `URL` does not. */
function withHost({ beforeHosts, hosts, path }: Parts): string {
  return `${beforeHosts}${hosts || 'localhost'}${path}`;
}

function assertNoIgnoredOption({ options }: Parts): void {
  for (const { name, value } of IGNORED_OPTIONS) {
    const given = options.get(name);
    const isIgnored = value === undefined ? Boolean(given) : given === value;
    if (!isIgnored) continue;
    throw new Error(
      `holds ${name}=${given}, which has no effect: remove it. ` +
        'Name host and database, and sslmode=verify-full to verify the server',
    );
  }
}

/**
 * pg verifies certificate and name with each of the modes, and warns of those that libpq does not verify with. With
 * verify-ca it can do as libpq does: the certificate only.
 */
function withVerifiedServer(text: string, { options }: Parts): string {
  if (options.has('uselibpqcompat')) return text;
  const mode = options.get('sslmode');
  if (mode === 'verify-ca') return `${text}&uselibpqcompat=true`;
  if (mode !== 'prefer' && mode !== 'require') return text;
  const [base = '', query = ''] = text.split('?');
  return `${base}?${query.replace(`sslmode=${mode}`, 'sslmode=verify-full')}`;
}

/** pg reads the files that it names. */
function assertUsable(connectionString: string): void {
  try {
    decodeURIComponent(connectionString);
    void new Client({ connectionString });
  } catch (error) {
    throw new Error(reasonOf(error as NodeJS.ErrnoException), { cause: error });
  }
}

function reasonOf(error: NodeJS.ErrnoException): string {
  const { path, code, message } = error;
  if (path !== undefined) return `names the file ${path}, which cannot be read (${code})`;
  if (error instanceof URIError) return 'holds a % that begins no percent-encoded UTF-8: write %25 for a percent sign';
  return `cannot be used: ${message}`;
}
