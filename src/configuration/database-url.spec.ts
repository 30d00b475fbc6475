import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { useTestFolder } from '../../test/support/test-folder.js';
import { parseDatabaseAddress, findTransportWarning } from './database-url.js';

const parse = (url: string) => parseDatabaseAddress({ DATABASE_URL: url });
const VERIFIED = { rejectUnauthorized: true };

afterEach(() => {
  jest.restoreAllMocks();
});

it('gives pg only the parts of the connection string that the service uses', () => {
  const url = 'postgres://reader:p%40ss@db.example:5433/orders?options=-csearch_path%3Dx&application_name=a&max=9';
  expect(parse(url)).toEqual({
    host: 'db.example',
    port: 5433,
    user: 'reader',
    password: 'p@ss',
    database: 'orders',
    ssl: undefined,
    options: '-csearch_path=x',
    application_name: 'a',
  });
});

it.each([
  { query: 'sslmode=require' },
  { query: 'sslmode=prefer' },
  { query: 'sslmode=verify-full' },
  { query: 'uselibpqcompat=true&sslmode=require' },
  { query: 'application_name=a?b&sslmode=require' }, // this ? is inside a value
])('verifies certificate and name, without a warning of pg: $query', ({ query }) => {
  const emitWarning = jest.spyOn(process, 'emitWarning').mockReturnValue();
  expect(parse(`postgres://db.example/orders?${query}`).ssl).toEqual(VERIFIED);
  expect(emitWarning).not.toHaveBeenCalled();
});

/** Connection strings from the manuals of the providers, with invented names and passwords. */
it.each([
  {
    provider: 'Neon',
    url: 'postgresql://alex:AbC123@ep-cool-darkness-a1b2c3d4-pooler.us-east-2.aws.neon.tech/db?sslmode=require&channel_binding=require',
    fields: { host: 'ep-cool-darkness-a1b2c3d4-pooler.us-east-2.aws.neon.tech', database: 'db', ssl: VERIFIED },
  },
  {
    provider: 'Supabase, session pooler',
    url: 'postgresql://postgres.abcdefghijklm:pw@aws-0-eu-central-1.pooler.supabase.com:5432/postgres',
    fields: { user: 'postgres.abcdefghijklm', port: 5432, database: 'postgres' },
  },
  {
    provider: 'Google Cloud SQL, Unix socket',
    url: 'postgresql://user:pw@/orders?host=/cloudsql/project:region:instance',
    fields: { host: '/cloudsql/project:region:instance', database: 'orders' },
  },
  {
    provider: 'Azure, single server',
    url: 'postgres://admin@server:pw@server.postgres.database.azure.com/postgres?sslmode=require',
    fields: { host: 'server.postgres.database.azure.com', user: 'admin@server', ssl: VERIFIED },
  },
  {
    provider: 'PlanetScale',
    url: 'postgresql://postgres.abc:pscale_pw_x@aws-us-east-2-1.pg.psdb.cloud:5432/postgres?sslmode=verify-full&sslrootcert=system',
    fields: { host: 'aws-us-east-2-1.pg.psdb.cloud', ssl: VERIFIED },
  },
  {
    provider: 'a provider that names the CAs of the system',
    url: 'postgresql://user:pw@db.example/orders?sslrootcert=system',
    fields: { host: 'db.example', ssl: VERIFIED },
  },
  {
    provider: 'Aiven',
    url: 'postgres://avnadmin:AVNS_x@pg-1.aivencloud.com:12691/defaultdb?sslmode=require',
    fields: { port: 12_691, database: 'defaultdb', ssl: VERIFIED },
  },
  {
    provider: 'DigitalOcean',
    url: 'postgresql://doadmin:pw@db-postgresql-nyc3-1.b.db.ondigitalocean.com:25060/defaultdb?sslmode=require',
    fields: { port: 25_060, user: 'doadmin', ssl: VERIFIED },
  },
])('accepts the connection string of $provider', ({ url, fields }) => {
  expect(parse(url)).toMatchObject(fields);
});

it.each([
  'postgresql://u:p@one.example:5432,two.example:5432/orders?target_session_attrs=read-write',
  'postgresql://one.example,two.example/orders',
  'postgresql:///orders?host=one.example,two.example',
])('says what to write instead of several hosts: %s', (url) => {
  expect(() => parse(url)).toThrow('DATABASE_URL names several hosts: name one that leads to the primary');
});

it.each([
  ...['sslrootcert=system&sslmode=disable', 'sslmode=no-verify&sslrootcert=system', 'sslmode=&sslrootcert=system'],
  ...['sslrootcert=system&sslmode', 'sslrootcert=system&ssl%6Dode=disable', 'sslrootcert=system&\nsslmode=disable'],
])('refuses sslrootcert=system with a weaker mode, as libpq does: %s', (parameters) => {
  expect(() => parse(`postgres://u:p@db.example/orders?${parameters}`)).toThrow(
    'DATABASE_URL has sslrootcert=system, which needs sslmode=verify-full',
  );
});

describe('a password of DATABASE_URL_FILE', () => {
  const file = join(useTestFolder(), 'database-url');
  const write = (text: string) => writeFileSync(file, text);

  /** Returns the function that pg calls for the password of each connection. */
  function reader(): () => unknown {
    write('postgres://reader:first@db.example/orders\n');
    const { password } = parseDatabaseAddress({ DATABASE_URL_FILE: file });
    return password as () => unknown;
  }

  it('is read again for each connection', () => {
    const read = reader();
    expect(read()).toBe('first');
    write('postgres://reader:second@db.example/orders');
    expect(read()).toBe('second');
  });

  it('does not change while the file contains no valid connection string, and the log says why', () => {
    const warn = jest.fn();
    Logger.overrideLogger({ warn, log: warn, error: warn });
    const read = reader();
    write('postgres://reader:p/ss@db.example/orders');
    expect(read()).toBe('first');
    const reason = expect.stringMatching(/^DATABASE_URL_FILE is .* has an unescaped #, \/ or \? in user or password: /);
    const message = 'the password of the database cannot be read again';
    expect(warn.mock.calls).toEqual([[{ message, reason }, 'Database']]);
  });
});

describe('the encoding of a file', () => {
  const folder = useTestFolder();
  function write(name: string, text: string, encoding: BufferEncoding): string {
    const file = join(folder, name);
    writeFileSync(file, text, encoding);
    return file;
  }

  it('for DATABASE_URL_FILE may be UTF-8 with a byte order mark', () => {
    const file = write('url', '\uFEFFpostgres://db.example/orders\r\n', 'utf8');
    expect(parseDatabaseAddress({ DATABASE_URL_FILE: file })).toMatchObject({ host: 'db.example', database: 'orders' });
  });

  it.each([
    { encoding: 'utf16le', password: 'pa' }, // ASCII in UTF-16 is also valid UTF-8, but contains zero bytes
    { encoding: 'latin1', password: 'pä' },
  ] as const)('for DATABASE_URL_FILE may not be $encoding', ({ encoding, password }) => {
    const file = write('url', `postgres://reader:${password}@db.example/orders`, encoding);
    expect(() => parseDatabaseAddress({ DATABASE_URL_FILE: file })).toThrow(
      `DATABASE_URL_FILE is "${file}": the file is not in UTF-8: save it as UTF-8`,
    );
  });

  it('for sslrootcert or sslcert may not be UTF-16', () => {
    const file = write('ca.pem', '-----BEGIN CERTIFICATE-----\n', 'utf16le');
    const parseWith = (query: string) => () => parse(`postgres://db.example/orders?sslmode=verify-full&${query}`);
    expect(parseWith(`sslrootcert=${file}`)).toThrow(
      'DATABASE_URL has an sslrootcert without a certificate: a PEM file in UTF-8 is needed',
    );
    expect(parseWith(`sslcert=${file}`)).toThrow(/^DATABASE_URL has an sslcert or sslkey that cannot be used \(/);
  });
});

it.each([
  'postgres://db.example/orders',
  'postgres://127.db.example/orders', // no loopback address, although it begins with 127.
])('warns if the connection to another machine is not encrypted: %s', (url) => {
  const warning = findTransportWarning({ DATABASE_URL: url });
  expect(warning).toMatch(/^the connection to the database at \S*db\.example is not encrypted/);
});

it.each([
  'postgres://db.example/orders?sslmode=disable',
  'postgres://db.example/orders?sslmode=require',
  'postgres://127.0.0.1/orders',
  'postgres://[::1]/orders',
  'postgres:///orders?host=::1',
  'postgres:///orders?host=/run/postgresql',
])('does not warn if the connection is encrypted, stays on this machine, or has sslmode=disable: %s', (url) => {
  expect(findTransportWarning({ DATABASE_URL: url })).toBeUndefined();
});
