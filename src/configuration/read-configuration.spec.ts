import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { ConfigurationError, readConfiguration, variableNames } from './read-configuration.js';

const complete = {
  DATABASE_URL: 'postgres://reader:secret@db.example:5432/orders',
  OAUTH_ISSUER: 'https://login.example',
  OAUTH_AUDIENCE: 'https://orders.example',
};

function faults(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readConfiguration(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
  return [];
}

it('uses the default of a variable that is empty or not set, and converts numbers, lists and booleans', () => {
  const given = { PORT: '0', MANAGEMENT_PORT: '', UNRELATED: 'x', OAUTH_ALLOW_HTTP: 'true' };
  const CORS_ORIGINS = 'https://a.example, http://b.example:8080';
  expect(readConfiguration({ ...complete, ...given, CORS_ORIGINS })).toMatchObject({
    DATABASE_URL: complete.DATABASE_URL,
    OAUTH_AUDIENCE: ['https://orders.example'],
    PORT: 0,
    MANAGEMENT_PORT: 3001,
    OAUTH_ISSUER: ['https://login.example'],
    CORS_ORIGINS: ['https://a.example', 'http://b.example:8080'],
    OAUTH_ALLOW_HTTP: true,
  });
});

it('reads exactly the variables of .env.example, except ORDER_LOOKUP_PERSON of the commands', () => {
  const documented = readFileSync('.env.example', 'utf8').matchAll(/^# ([A-Z_]+)=/gm);
  const names = Array.from(documented, ([, name]) => name);
  expect(names.filter((name) => name !== 'ORDER_LOOKUP_PERSON')).toEqual(variableNames);
});

it('uses the promised defaults', () => {
  expect(readConfiguration(complete)).toEqual({
    DATABASE_URL: complete.DATABASE_URL,
    OAUTH_ISSUER: [complete.OAUTH_ISSUER],
    OAUTH_AUDIENCE: [complete.OAUTH_AUDIENCE],
    HOST: '',
    PORT: 3000,
    MANAGEMENT_HOST: '',
    MANAGEMENT_PORT: 3001,
    BASE_PATH: '',
    PUBLIC_BASE_URL: '',
    DATABASE_URL_FILE: '',
    OAUTH_CLIENTS: [],
    OAUTH_JWKS_URI: [],
    OAUTH_REQUIRED_SCOPE: '',
    OAUTH_TOKEN_TYPE: '',
    OAUTH_ALLOW_HTTP: false,
    API_KEY_MAX_AGE_SECONDS: 86_400,
    DRAIN_SECONDS: 4,
    KEEP_ALIVE_SECONDS: 75,
    RATE_LIMIT_PER_MINUTE: 0,
    CORS_ORIGINS: [],
    TRUSTED_PROXY_HOPS: 0,
    DOCUMENTATION: 'on',
    OTEL_EXPORTER_OTLP_ENDPOINT: '',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '',
    OTEL_SDK_DISABLED: 'false',
    OTEL_EXPORTER_OTLP_HEADERS: '',
    OTEL_SERVICE_NAME: 'order-lookup-services',
    OTEL_RESOURCE_ATTRIBUTES: '',
    OTEL_TRACES_SAMPLER: 'parentbased_always_on',
    OTEL_TRACES_SAMPLER_ARG: '',
    LOG_LEVEL: 'info',
  });
});

it('.env.example shows the default of each variable, unless it shows an example', () => {
  const lines = readFileSync('.env.example', 'utf8').matchAll(/(?<!For example:\n)^# ([A-Z_]+)=(.*)$/gm);
  const shown = Array.from(lines, ([, name = '', value]) => [name, value] as const);
  expect(shown.length).toBeGreaterThan(15); // otherwise the pattern no longer fits the file
  const defaults = readConfiguration(complete);
  const actual = shown.map(([name]) => [name, String(defaults[name as keyof typeof defaults])]);
  expect(actual).toEqual(shown);
});

it('names all missing and wrong variables in one error', () => {
  expect(faults({ PORT: '70000' })).toEqual([
    expect.stringMatching(/^DATABASE_URL is not set: a connection string such as /),
    'PORT is "70000": a whole number from 0 to 65535 is needed',
    expect.stringMatching(/^OAUTH_ISSUER is not set: .* is needed$/),
    expect.stringMatching(/^OAUTH_AUDIENCE is not set: .* is needed$/),
  ]);
});

it.each([
  { name: 'PORT', value: '0x10', needed: 'a whole number from 0 to 65535' },
  { name: 'MANAGEMENT_PORT', value: '3000', needed: 'a port other than PORT' },
  { name: 'BASE_PATH', value: 'lookups/', needed: 'a path such as /lookups' },
  { name: 'PUBLIC_BASE_URL', value: 'https://a.example/"b', needed: 'an address in ASCII' },
  { name: 'PUBLIC_BASE_URL', value: 'https://a.example\n/b', needed: 'an address in ASCII' },
  { name: 'PUBLIC_BASE_URL', value: 'https://bücher.example', needed: 'an address in ASCII' },
  { name: 'PUBLIC_BASE_URL', value: 'https://a.example/', needed: 'without a slash at its end' },
  { name: 'OAUTH_ISSUER', value: 'https://a.example,', needed: 'an https address' },
  { name: 'OAUTH_ISSUER', value: 'http://issuer:9000', needed: 'OAUTH_ALLOW_HTTP=true' },
  {
    name: 'OAUTH_ISSUER',
    value: 'https://a.example,https://a.example',
    needed: 'names each issuer once',
  },
  {
    name: 'OAUTH_ISSUER',
    value: 'https://a.example,urn:x',
    needed: 'any name if OAUTH_JWKS_URI has the address of its keys',
  },
  { name: 'OAUTH_AUDIENCE', value: 'a b', needed: 'separate several by commas' },
  { name: 'OAUTH_AUDIENCE', value: 'a,,b', needed: 'separate several by commas' },
  { name: 'OAUTH_CLIENTS', value: 'a,', needed: 'a list of client ids' },
  { name: 'OAUTH_JWKS_URI', value: 'http://a.example/keys', needed: 'an https address' },
  { name: 'OAUTH_REQUIRED_SCOPE', value: 'a,b', needed: 'without a comma' },
  { name: 'OAUTH_TOKEN_TYPE', value: 'JWT', needed: 'at+jwt (RFC 9068)' },
  { name: 'OAUTH_REQUIRED_SCOPE', value: 'a b', needed: 'one scope' },
  { name: 'OAUTH_ALLOW_HTTP', value: 'yes', needed: 'true or false' },
  {
    name: 'CORS_ORIGINS',
    value: 'https://a.example/x',
    needed: 'origins such as https://portal.example.com',
  },
  {
    name: 'LOG_LEVEL',
    value: 'loud',
    needed: 'one of fatal, error, warn, info, debug, trace, silent',
  },
  { name: 'DOCUMENTATION', value: 'no', needed: 'on or off' },
])('refuses $name=$value', ({ name, value, needed }) => {
  const [fault = '', ...more] = faults({ ...complete, [name]: value });
  expect(fault).toContain(`${name} is "${value}": `);
  expect(fault).toContain(needed);
  expect(fault).toMatch(/ is needed$/);
  expect(more).toEqual([]);
});

it.each([
  { name: 'PORT', lowest: 0, highest: 65_535 },
  { name: 'MANAGEMENT_PORT', lowest: 0, highest: 65_535 },
  { name: 'API_KEY_MAX_AGE_SECONDS', lowest: 10, highest: 86_400 },
  { name: 'DRAIN_SECONDS', lowest: 0, highest: 3_600 },
  { name: 'KEEP_ALIVE_SECONDS', lowest: 1, highest: 86_400 },
  { name: 'RATE_LIMIT_PER_MINUTE', lowest: 0, highest: 1_000_000 },
  { name: 'TRUSTED_PROXY_HOPS', lowest: 0, highest: 100 },
])('$name is a whole number from $lowest to $highest', ({ name, lowest, highest }) => {
  const faultsOf = (value: number) => faults({ ...complete, [name]: String(value) });
  const refusal = (value: number) => [`${name} is "${value}": a whole number from ${lowest} to ${highest} is needed`];
  expect([faultsOf(lowest), faultsOf(highest)]).toEqual([[], []]);
  expect([faultsOf(lowest - 1), faultsOf(highest + 1)]).toEqual([refusal(lowest - 1), refusal(highest + 1)]);
});

it.each([
  { OAUTH_ISSUER: 'http://localhost:9000' },
  { OAUTH_ISSUER: 'http://[::1]:9000', OAUTH_JWKS_URI: 'https://a.example/jwks?p=policy' },
  { OAUTH_ISSUER: 'http://issuer:9000', OAUTH_ALLOW_HTTP: 'true' },
  { OAUTH_ISSUER: 'https://a.example , https://b.example/' },
  // The second and the third issuer are no addresses of metadata, but OAUTH_JWKS_URI has the addresses of their keys
  { OAUTH_ISSUER: 'https://a,http://b?c,urn:d', OAUTH_JWKS_URI: ',https://b/?p=q,https://d' },
  { OAUTH_AUDIENCE: '', OAUTH_CLIENTS: 'one, two' },
  { LOGLEVEL: 'x', DATABASE: 'x', OAUTH_REQUIRED_SCOPES: '' }, // only names with OAUTH_ and a value must be known
  { LOG_LEVEL: 'Warn' },
  { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'some', OTEL_SDK_DISABLED: 'yes' },
  { DATABASE_URL: 'postgres://user@/db?host=/run/postgresql&sslmode=disable' },
  { DATABASE_URL: 'postgres://u:p@ss@db/x' },
  { DATABASE_URL: 'postgres://u:p%2C%40@db/x?channel_binding=require' },
  { DATABASE_URL: 'postgres://u:p,ss@[::1]:5432/x?application_name=a@b' },
  { DATABASE_URL: 'postgres://[::1]:5432/x?application_name=a@b' },
  { DATABASE_URL: 'postgres://db/a%40b?options=-csearch_path%3Dx&user=name@tenant' },
  { DATABASE_URL: 'postgres://u:p&ss@db/x' },
])('accepts %j', (environment: NodeJS.ProcessEnv) => expect(faults({ ...complete, ...environment })).toEqual([]));

it.each([
  { name: 'OAUTH_ISSUER', value: '"https://login.example"' },
  { name: 'DATABASE_URL', value: "'postgres://reader:secret@db.example/orders'" },
  { name: 'PORT', value: '"3000"' },
  { name: 'OAUTH_CLIENTS', value: '"one,two"' },
])('says once that the value of $name has quotes: $value', ({ name, value }) => {
  expect(faults({ ...complete, [name]: value })).toEqual([
    `${name} begins and ends with a quote: it is in two pairs of quotes, or the program that reads its file keeps quotes. Remove the quotes`,
  ]);
});

// In each password, a character is not escaped. `postgres://u:12/ss@host` could be read as the host u with the port 12,
// and then a message would show a part of the password
const UNESCAPED_PASSWORDS = ['p/ss', 'p?ss', 'p#ss', 'p@ss/w', 'p,ss@/w,rd', '12/ss', '12?ss', '12#ss', 'p@12/ss'];
const PASSWORDS_LIKE_A_QUERY = ['12?x=ss', '12/w?x=ss', 'p@12?x=ss', '12?user=p&x=ss'];
const SEVERAL_HOSTS = /^DATABASE_URL names several hosts: name one that leads to the primary/;
it.each<[NodeJS.ProcessEnv, RegExp]>([
  [
    { DATABASE_URL: 'mysql://u:secret@db/x' },
    /^DATABASE_URL does not begin with postgres:\/\/: a connection string such as/,
  ],
  [{ DATABASE_URL: 'postgres://u:%E4@db/x' }, /^DATABASE_URL cannot be parsed: .* %25 for %/],
  [{ DATABASE_URL: 'postgres://u:p@a,b/db' }, SEVERAL_HOSTS],
  [{ DATABASE_URL: 'postgres:///db?host=a,b' }, SEVERAL_HOSTS],
  [{ DATABASE_URL: 'postgres://db/x?sslmode=verify-ca' }, /requires specifying a CA with sslrootcert/],
  [
    { DATABASE_URL: 'postgres://db/x?sslmode=verify-full&sslrootcert=/none' },
    /^DATABASE_URL names the file \/none, which cannot be read \(ENOENT\)$/,
  ],
  [{ DATABASE_URL_FILE: '/run/url' }, /^DATABASE_URL and DATABASE_URL_FILE are both set: unset one/],
  [{ DATABASE_URL: '', DATABASE_URL_FILE: '/none' }, /^DATABASE_URL_FILE is "\/none": .*ENOENT/],
  [{ OAUTH_JWKS_URI: 'https://a.example,https://b.example' }, /^OAUTH_JWKS_URI is .*: for each OAUTH/],
  [{ OAUTH_ISSUER: 'https://a.example/?p=1' }, /^OAUTH_ISSUER is .* query/],
  [{ OAUTH_AUDIENCE: ' ' }, /^OAUTH_AUDIENCE is not set: .* or OAUTH_CLIENTS/],
  [
    { OAUTH_REQUIRED_SCOPES: 'x' },
    /^OAUTH_REQUIRED_SCOPES is unknown: rename it to one of OAUTH_ISSUER, .*, OAUTH_REQUIRED_SCOPE, .*, or unset it$/,
  ],
  [{ OAUTH_CLIENT_SECRET: 'x' }, /^OAUTH_CLIENT_SECRET is unknown: /],
  [{ oauth_audience: 'x' }, /^oauth_audience is unknown: /],
])('refuses %j', (environment, fault) => {
  expect(faults({ ...complete, ...environment })).toEqual([expect.stringMatching(fault)]);
});

it.each([...UNESCAPED_PASSWORDS, ...PASSWORDS_LIKE_A_QUERY])(
  'says how to write the password %s, and shows no part of it',
  (password) => {
    const found = faults({ ...complete, DATABASE_URL: `postgres://u:${password}@host/db` });
    expect(found).toEqual([expect.stringMatching(/^DATABASE_URL .*with %40 for @, %2F for \/, %3F for \?, %23 for #/)]);
    for (const part of password.split(/[@/?#,&]+/)) expect(found[0]).not.toMatch(new RegExp(`\\b${part}\\b`));
  },
);

const SECRETS = [
  'https://alice:s3cret@host.example',
  'https://:s3cret@host.example/x/',
  'alice:s3cret@host.example',
  'https//alice:s3cret@host.example',
  'https://alice:s3c@s3cret@host.example',
  'ftp://host.example/?password=s3cret',
];
it.each(['DATABASE_URL', 'OAUTH_ISSUER', 'OAUTH_JWKS_URI', 'PUBLIC_BASE_URL', 'CORS_ORIGINS'])(
  'shows no password of a refused %s',
  (name) => {
    for (const value of SECRETS) {
      const found = faults({ ...complete, [name]: value });
      expect(found).toEqual([expect.stringContaining(`${name} `)]);
      expect(found[0]).not.toMatch(/s3c|alice/);
    }
  },
);

it.each([
  { url: '', path: '/lookups', base: '/lookups' },
  { url: 'https://x.example', path: '', base: 'https://x.example' },
  { url: 'https://x.example', path: '/lookups', base: 'https://x.example/lookups' },
  { url: 'https://x.example/lookups', path: '/lookups', base: 'https://x.example/lookups' },
  { url: 'https://lookups', path: '/lookups', base: 'https://lookups/lookups' }, // the host looks like BASE_PATH
  { url: 'https://x.example/gw/a', path: '/a', base: 'https://x.example/gw/a' },
])('PUBLIC_BASE_URL=$url with BASE_PATH=$path means the base address $base', ({ url, path, base }) => {
  const { baseAddress } = readConfiguration({ ...complete, PUBLIC_BASE_URL: url, BASE_PATH: path });
  expect(baseAddress).toBe(base);
});
