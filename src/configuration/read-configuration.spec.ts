import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
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

describe('readConfiguration', () => {
  it('takes the defaults for what is not set or empty', () => {
    expect(readConfiguration({ ...complete, PORT: '', UNRELATED: 'x' })).toMatchObject({
      ...complete,
      OAUTH_ISSUER: ['https://login.example'],
      HOST: '0.0.0.0',
      PORT: 3000,
      MANAGEMENT_PORT: 3001,
      CORS_ORIGINS: [],
    });
  });

  it('converts numbers, lists and switches', () => {
    const read = readConfiguration({
      ...complete,
      PORT: '0',
      CORS_ORIGINS: 'https://a.example, http://b.example:8080',
      OAUTH_ALLOW_HTTP: 'true',
    });
    expect(read).toMatchObject({
      PORT: 0,
      CORS_ORIGINS: ['https://a.example', 'http://b.example:8080'],
      OAUTH_ALLOW_HTTP: true,
    });
  });

  it('names everything that is missing at once', () => {
    expect(faults({})).toEqual([
      expect.stringMatching(/^DATABASE_URL is not set: /),
      expect.stringMatching(/^OAUTH_ISSUER is not set: /),
      expect.stringMatching(/^OAUTH_AUDIENCE is not set: /),
    ]);
  });

  it.each([
    ['PORT', '70000', 'PORT is "70000": a whole number from 0 to 65535 is needed'],
    ['PORT', '0x10', 'PORT is "0x10": a whole number from 0 to 65535 is needed'],
    [
      'BASE_PATH',
      'lookups/',
      'BASE_PATH is "lookups/": it has to begin with a slash and end without one, such as /lookups',
    ],
    ['OAUTH_ISSUER', 'login', 'OAUTH_ISSUER is "login": an https address is needed'],
    [
      'OAUTH_TOKEN_TYPE',
      'JWT',
      'OAUTH_TOKEN_TYPE is "JWT": only at+jwt can be demanded (RFC 9068); leave it out to accept JWT too',
    ],
    ['OAUTH_ALLOW_HTTP', 'yes', 'OAUTH_ALLOW_HTTP is "yes": true or false is needed'],
    [
      'CORS_ORIGINS',
      'https://a.example/x',
      'CORS_ORIGINS holds "https://a.example/x": each entry has to be an origin such as https://portal.example.com (scheme and host, no path)',
    ],
    [
      'LOG_LEVEL',
      'loud',
      'LOG_LEVEL is "loud": one of fatal, error, warn, info, debug, trace, silent is needed',
    ],
    ['DOCUMENTATION', 'no', 'DOCUMENTATION is "no": on or off is needed'],
    [
      'TRUSTED_PROXY_HOPS',
      '-1',
      'TRUSTED_PROXY_HOPS is "-1": a whole number from 0 to 100 is needed',
    ],
    [
      'MANAGEMENT_PORT',
      '3000',
      'MANAGEMENT_PORT is 3000, and so is PORT: two different ports are needed',
    ],
    ['OAUTH_ISSUER', 'https://a.example, b', 'OAUTH_ISSUER holds "b": an https address is needed'],
    [
      'OAUTH_ISSUER',
      'https://a.example,https://a.example',
      'OAUTH_ISSUER holds "https://a.example" twice: name each issuer once',
    ],
    [
      'DATABASE_URL',
      'postgres://u:%ZZ@db/x',
      'DATABASE_URL holds a % that begins no percent-encoded UTF-8: write %25 for a percent sign',
    ],
  ])('refuses %s=%s', (name, value, fault) => {
    expect(faults({ ...complete, [name]: value })).toEqual([fault]);
  });

  it.each(['http://localhost:9000', 'http://127.0.0.1:9000', 'http://[::1]:9000'])(
    'accepts plain http on the loopback address %s',
    (issuer) => {
      expect(faults({ ...complete, OAUTH_ISSUER: issuer })).toEqual([]);
    },
  );

  it('refuses plain http elsewhere unless OAUTH_ALLOW_HTTP says so', () => {
    expect(faults({ ...complete, OAUTH_ISSUER: 'http://issuer:9000' })).toEqual([
      expect.stringContaining('OAUTH_ALLOW_HTTP=true'),
    ]);
    expect(
      faults({ ...complete, OAUTH_ISSUER: 'http://issuer:9000', OAUTH_ALLOW_HTTP: 'true' }),
    ).toEqual([]);
  });

  it('takes several issuers, but a key set for a single one only', () => {
    const several = { ...complete, OAUTH_ISSUER: 'https://a.example , https://b.example/' };
    expect(readConfiguration(several).OAUTH_ISSUER).toEqual([
      'https://a.example',
      'https://b.example/',
    ]);
    expect(faults({ ...several, OAUTH_JWKS_URI: 'https://a.example/jwks' })).toEqual([
      'OAUTH_JWKS_URI is set, and OAUTH_ISSUER names several issuers: leave it out, so that the keys of each are found by its metadata',
    ]);
  });

  it.each(
    ['DATABASE_URL', 'OAUTH_ISSUER', 'OAUTH_JWKS_URI', 'PUBLIC_BASE_URL', 'CORS_ORIGINS'].flatMap(
      (name) =>
        [
          'https://alice:s3cret@host.example',
          'https://:s3cret@host.example/x/',
          'https://s3cret@host.example',
          'alice:s3cret@host.example',
          'https//alice:s3cret@host.example',
          'https://alice:s3c@s3cret@host.example',
          'ftp://host.example/?password=s3cret',
        ].map((value) => [name, value]),
    ),
  )('refuses %s=%s and quotes no password', (name = '', value = '') => {
    const found = faults({ ...complete, [name]: value });
    expect(found).toEqual([expect.stringContaining(`${name} `)]);
    expect(found[0]).not.toMatch(/s3c|alice/);
  });

  it.each([
    ['', '', '', ''],
    ['', '/lookups', '', '/lookups'],
    ['https://x.example', '', 'https://x.example', 'https://x.example'],
    ['https://x.example', '/lookups', 'https://x.example', 'https://x.example/lookups'],
    ['https://x.example/lookups', '/lookups', 'https://x.example', 'https://x.example/lookups'],
    ['https://lookups', '/lookups', 'https://lookups', 'https://lookups/lookups'],
    ['https://x.example/gw', '/a', 'https://x.example/gw', 'https://x.example/gw/a'],
    ['https://x.example/gw/a', '/a', 'https://x.example/gw', 'https://x.example/gw/a'],
  ])('PUBLIC_BASE_URL=%s with BASE_PATH=%s', (PUBLIC_BASE_URL, BASE_PATH, server, base) => {
    const read = readConfiguration({ ...complete, PUBLIC_BASE_URL, BASE_PATH });
    expect([read.serverAddress, read.baseAddress]).toEqual([server, base]);
  });

  it('reads exactly the variables of .env.example', () => {
    const documented = [...readFileSync('.env.example', 'utf8').matchAll(/^# ([A-Z_]+)=/gm)].map(
      ([, name]) => name,
    );
    expect(documented).toEqual(variableNames);
  });

  it.each([
    ['OAUTH_REQUIRED_SCOPES', 'OAUTH_REQUIRED_SCOPE'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['oauth_audience', 'OAUTH_AUDIENCE'],
  ])('names %s, which is nearly %s', (name, meant) => {
    expect(faults({ ...complete, [name]: 'x' })).toEqual([
      `${name} is unknown: rename it to ${meant}, or unset it`,
    ]);
    expect(faults({ ...complete, [name]: '' })).toEqual([]);
  });

  it.each(['HOME', 'HOSTNAME', 'OTEL_BLRP_SCHEDULE_DELAY', 'OTEL_LOGS_EXPORTER', 'DATABASE'])(
    'accepts %s, which is of others',
    (name) => expect(faults({ ...complete, [name]: 'x' })).toEqual([]),
  );

  it.each([
    'https://a.example/"b',
    'https://a.example\n/b',
    'https://bücher.example',
    'https://a.example/ b',
  ])('refuses the address %j, which would break a header', (url) => {
    expect(faults({ ...complete, PUBLIC_BASE_URL: url })).toEqual([
      expect.stringMatching(/^PUBLIC_BASE_URL is .* is needed, such as https:\/\/orders\.example/s),
    ]);
  });
});
