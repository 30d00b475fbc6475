import { tmpdir } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer, signingKey } from '../support/issuer.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { type Outcome, run } from '../support/program.js';

let database: TestDatabase;
let issuer: Issuer;
let key: IssuedKey;

beforeAll(async () => {
  [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
  key = await issueKey(database);
});
beforeEach(() => {
  issuer.fault = 'none';
  issuer.aheadMs = 0;
});
afterAll(() => Promise.all([issuer.close(), database.drop()]));

/** The doctor with a surrounding in which everything is right, but for what `environment` changes. */
const doctor = (input = '', environment: Record<string, string> = {}): Promise<Outcome> =>
  run(
    'doctor.js',
    [],
    { DATABASE_URL: database.urlOf('order_lookup_service'), ...issuer.environment, ...environment },
    input,
  );

async function expectFault(outcome: Promise<Outcome>, said: RegExp): Promise<void> {
  const { status, stdout, stderr } = await outcome;
  expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
  expect(stdout).toMatch(said);
}

describe('npm run doctor', () => {
  it.each([
    ['/nowhere/last-good', /warning +last good +LAST_GOOD_FILE cannot be written: ENOENT/],
    [tmpdir(), /warning +last good +LAST_GOOD_FILE is ".*", a folder/],
    [import.meta.filename, /ok +last good +.*doctor.e2e-spec.ts was written \d+ s ago/],
  ])('examines LAST_GOOD_FILE=%s', async (path, said) => {
    expect((await doctor('', { LAST_GOOD_FILE: path })).stdout).toMatch(said);
  });

  it('finds no fault where there is none, and shows no byte of a credential', async () => {
    const token = await issuer.token();
    const { status, stdout, stderr } = await doctor(`${key.key}\nAuthorization: Bearer ${token}\n`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const lines = stdout.split('\n').filter((line) => /^\w+ {2,}/.test(line));
    expect(lines.map((line) => line.split(/ {2,}/).slice(0, 2).join(' '))).toEqual(
      [
        'configuration',
        'database',
        'encryption',
        'migrations',
        'role',
        'contents',
        'record',
        'notifications',
        'clock',
        'API key',
        'discovery',
        'signing keys',
        'clock',
        'access token',
      ].map((subject) => `ok ${subject}`),
    );
    for (const secret of [key.key, ...token.split('.'), 'tests-only'])
      expect(stdout).not.toContain(secret);
  });

  it.each<[string, () => Promise<Outcome>, RegExp]>([
    [
      'a configuration that is not complete',
      () => doctor('', { OAUTH_AUDIENCE: '' }),
      /fault {4}configuration {2}OAUTH_AUDIENCE is not set/,
    ],
    [
      'a database that is away',
      () => doctor('', { DATABASE_URL: 'postgres://a:b@127.0.0.1:9/x' }),
      /fault {4}database .*ECONNREFUSED/,
    ],
    [
      'a wrong password',
      () => doctor('', { DATABASE_URL: database.url.replace('tests-only', 'wrong') }),
      /fault .*password authentication failed/,
    ],
  ])('tells of %s', (_name, outcome, said) => expectFault(outcome(), said));

  it('names the pending migrations', async () => {
    const empty = await createDatabase({ migrated: false });
    await expectFault(
      doctor('', { DATABASE_URL: empty.url }),
      /fault {4}migrations {5}pending: 0001_create_code_tables, [^]*→ .*migrate up/,
    );
    await empty.drop();
  });

  it('names what the role may not read; the grant that it prints corrects that', async () => {
    await database.query('revoke select on communication_code from order_lookup_service');
    const { stdout } = await doctor();
    expect(stdout).toMatch(
      /fault {4}role {11}order_lookup_service may not read communication_code/,
    );
    await database.query(/As the owner: (grant .*;)/.exec(stdout)?.[1] ?? '');
    expect((await doctor()).status).toBe(0);
  });

  it('warns of a role that may write', async () => {
    const { status, stdout } = await doctor('', {
      DATABASE_URL: database.urlOf('order_lookup_owner'),
    });
    expect({ status, warned: /warning {2}role .*may write too/.test(stdout) }).toEqual({
      status: 0,
      warned: true,
    });
  });

  it.each([
    ['down', /fault {4}discovery .*does not answer/],
    ['status 500', /fault {4}signing keys .*status 500/],
    ['html', /fault {4}signing keys .*is not valid JSON/],
    ['empty set', /fault {4}signing keys .*none of the 0 keys/],
  ] as const)('tells of an issuer that fails: %s', async (fault, said) => {
    issuer.fault = fault;
    await expectFault(doctor(await issuer.token()), said);
  });

  it('reports an issuer whose metadata has another name', () =>
    expectFault(
      doctor('', { OAUTH_ISSUER: `${issuer.url}/` }),
      /fault {4}discovery .*OAUTH_ISSUER has to be exactly that/,
    ));

  it.each([
    [120_000, /fault {4}clock .*the clock of the issuer is 1[12]\d s ahead of ours/],
    [-120_000, /fault {4}clock .*the clock of the issuer is 1[12]\d s behind ours/],
  ])('tells of a clock that is %i ms off', async (aheadMs, said) => {
    issuer.aheadMs = aheadMs;
    await expectFault(doctor(), said);
  });
});

describe('npm run doctor says why a credential does not pass', () => {
  const now = (): number => Math.floor(Date.now() / 1000);
  const credentials: [string, () => Promise<string>, RegExp][] = [
    [
      'a token that expired',
      () => issuer.token({ claims: { exp: now() - 600 } }),
      /it expired 10 minutes ago/,
    ],
    [
      'a token without an end',
      () => issuer.token({ claims: { exp: undefined } }),
      /its exp is missing/,
    ],
    [
      'a token not yet in force',
      () => issuer.token({ claims: { nbf: now() + 600 } }),
      /its nbf is 10 minutes ahead/,
    ],
    [
      'a token of another issuer',
      () => issuer.token({ claims: { iss: 'https://o.example' } }),
      /its iss is "https:\/\/o.example", OAUTH_ISSUER is/,
    ],
    [
      'a token for another audience',
      () => issuer.token({ claims: { aud: ['account'] } }),
      /its aud is \["account"\].*\n.*audience mapper in Keycloak/,
    ],
    [
      'a token of an unknown key',
      async () => issuer.token({ key: await signingKey('ES256', 'other') }),
      /its key id is "other", the issuer has rsa-1/,
    ],
    [
      'a forged token',
      async () => issuer.token({ key: await signingKey('RS256', 'rsa-1') }),
      /the signature does not fit/,
    ],
    [
      'an ID token',
      () => issuer.token({ claims: { at_hash: 'x', scope: 'lookups.read' } }),
      /it is an ID, refresh or logout token/,
    ],
    [
      'a token of another type',
      () => issuer.token({ header: { typ: 'logout+jwt' } }),
      /its typ is "logout\+jwt"/,
    ],
    [
      'a token that was cut',
      async () => (await issuer.token()).split('.').slice(0, 2).join('.'),
      /it has 2 parts/,
    ],
    ['an encrypted token', async () => 'a.b.c.d.e', /it has 5 parts/],
    ['a token that nobody can read', async () => 'a.b.c', /are not JSON/],
    ['a token without the scope', () => issuer.token(), /it lacks the scope lookups.read: 403/],
    ['a mistyped key', async () => key.key.slice(0, -1), /its checksum does not fit/],
    ['an unknown key', async () => generateApiKey(), /it is not in this database/],
    [
      'a revoked key',
      async () => (await issueKey(database, { revokedAt: new Date().toISOString() })).key,
      /was revoked/,
    ],
    [
      'an expired key',
      async () => (await issueKey(database, { expiresAt: new Date().toISOString() })).key,
      /has expired/,
    ],
  ];
  let told: { tokens: string[]; keys: string[] };
  beforeAll(async () => {
    const given: string[] = [];
    for (const [, credential] of credentials) given.push(await credential());
    const { stdout } = await doctor(given.join('\n'), { OAUTH_REQUIRED_SCOPE: 'lookups.read' });
    for (const secret of given.filter((text) => text.length > 40))
      expect(stdout).not.toContain(secret);
    const findings = stdout.split(/\n(?=\w)/);
    told = {
      tokens: findings.filter((line) => /access token/.test(line)),
      keys: findings.filter((line) => /API key /.test(line)),
    };
  });

  it('and judges a key by its row in the table, whatever its form', async () => {
    const { stdout } = await doctor(
      (await issueKey(database, { key: 'ols_a key that somebody made by hand' })).key,
    );
    expect(stdout).toMatch(/^ok {7}API key {8}\S+ of test is in force$/m);
  });

  it.each(credentials.map(([name, , said], at) => [name, at, said] as const))(
    '%s',
    (_name, at, said) => {
      expect([...told.tokens, ...told.keys][at]).toMatch(new RegExp(`^fault .*${said.source}`));
    },
  );
});
