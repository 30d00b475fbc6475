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

  it('never quotes the password of DATABASE_URL', () => {
    expect(
      faults({ ...complete, DATABASE_URL: 'mysql://reader:secret@db/x' }).join(),
    ).not.toContain('secret');
  });

  it('reads exactly the variables of .env.example', () => {
    const documented = [...readFileSync('.env.example', 'utf8').matchAll(/^# ([A-Z_]+)=/gm)].map(
      ([, name]) => name,
    );
    expect(documented).toEqual(variableNames);
  });
});
