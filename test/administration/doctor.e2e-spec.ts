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
  it('finds no fault where there is none, and shows no byte of a credential', async () => {
    const token = await issuer.token();
    const { status, stdout, stderr } = await doctor(`${key.key}\nAuthorization: Bearer ${token}\n`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const lines = stdout.split('\n').filter((line) => /^\w+ {2,}/.test(line));
    const subjects =
      'configuration,database,migrations,role,contents,triggers,API key,issuer,access token';
    expect(lines.map((line) => line.split(/ {2,}/).slice(0, 2).join(' '))).toEqual(
      subjects.split(',').map((subject) => `ok ${subject}`),
    );
    for (const secret of [key.key, ...token.split('.'), 'tests-only'])
      expect(stdout).not.toContain(secret);
  });

  it.each<[string, () => Record<string, string>, RegExp]>([
    [
      'a configuration that is not complete',
      () => ({ OAUTH_AUDIENCE: '' }),
      /fault {4}configuration {2}OAUTH_AUDIENCE is not set/,
    ],
    [
      'a database that is away',
      () => ({ DATABASE_URL: 'postgres://a:b@127.0.0.1:9/x' }),
      /fault {4}database .*ECONNREFUSED/,
    ],
    [
      'a wrong password',
      () => ({ DATABASE_URL: database.url.replace('tests-only', 'wrong') }),
      /fault .*password authentication failed/,
    ],
    [
      'an issuer whose metadata has another name',
      () => ({ OAUTH_ISSUER: `${issuer.url}/` }),
      /fault {4}issuer .*OAUTH_ISSUER has to be exactly that/,
    ],
  ])('tells of %s', (_name, environment, said) => expectFault(doctor('', environment()), said));

  it.each([
    ['down', /fault {4}issuer .*does not answer/],
    ['status 500', /fault {4}issuer .*status 500/],
    ['html', /fault {4}issuer .*is not valid JSON/],
    ['empty set', /fault {4}issuer .*( 0 signing keys|the 0 keys)/],
  ] as const)('tells of an issuer that fails: %s', async (fault, said) => {
    issuer.fault = fault;
    await expectFault(doctor(await issuer.token()), said);
  });

  it('names the pending migrations', async () => {
    const empty = await createDatabase({ migrated: false });
    await expectFault(
      doctor('', { DATABASE_URL: empty.url }),
      /fault {4}migrations {5}pending: 0001_create_code_tables, [^]*→ .*node dist\/migrate\.js up/,
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
    const url = database.urlOf('order_lookup_owner');
    const { status, stdout } = await doctor('', { DATABASE_URL: url });
    expect(status).toBe(0);
    expect(stdout).toMatch(/warning {2}role .*may write too/);
  });

  it.each([
    [
      `delete from area_property where area = 'order-update'`,
      /fault {4}contents .*the area order-update has no property/,
    ],
    [
      'alter table communication_code enable row level security',
      /fault {4}contents .*row-level security/,
    ],
    [
      'alter table api_key disable trigger record_update; drop trigger record_delete on code_list',
      /fault {4}triggers .*record_update of api_key is switched off, the trigger record_delete of code_list is missing/,
    ],
  ])('names what the service would refuse or not notice: %s', async (sql, said) => {
    const spoilt = await createDatabase();
    await spoilt.query(sql);
    await expectFault(doctor('', { DATABASE_URL: spoilt.urlOf('order_lookup_service') }), said);
    await spoilt.drop();
  });
});

describe('npm run doctor says in one sentence why a credential does not pass:', () => {
  const seconds = Math.floor(Date.now() / 1000);
  const withClaims = (claims: Record<string, unknown>) => () => issuer.token({ claims });
  const signedBy = (alg: string, kid: string) => async () =>
    issuer.token({ key: await signingKey(alg, kid) });
  const stored = (end: { revokedAt?: string; expiresAt?: string }) => async () =>
    (await issueKey(database, end)).key;
  const now = new Date().toISOString();
  const credentials: [string, () => Promise<string>, RegExp][] = [
    ['expired', withClaims({ exp: 1e9 }), /reason "expired".*"exp":1000000000/],
    ['endless', withClaims({ exp: undefined }), /reason "no-expiry"/],
    ['early', withClaims({ nbf: seconds + 600 }), /reason "not-before".*"nbf":\d+/],
    ['of another issuer', withClaims({ iss: 'o' }), /reason "issuer".*"iss":"o"/],
    ['for another audience', withClaims({ aud: ['a'] }), /reason "audience".*"aud":\["a"\]/],
    ['of an unknown key', signedBy('ES256', 'other'), /no applicable key.*"kid":"other"/],
    ['forged', signedBy('RS256', 'rsa-1'), /signature verification failed/],
    ['an ID token', withClaims({ at_hash: 'x', scope: 'lookups.read' }), /reason "another-kind"/],
    [
      'of another type',
      () => issuer.token({ header: { typ: 'logout+jwt' } }),
      /reason "type".*"typ":"logout\+jwt"/,
    ],
    ['encrypted', async () => 'a.b.c.d.e', /of 3 parts: 5 parts/],
    ['unreadable', async () => 'a.b.c', /it is no signed JWT/],
    ['without the scope', () => issuer.token(), /it lacks the scope lookups.read: 403/],
    ['mistyped', async () => key.key.slice(0, -1), /its checksum does not fit/],
    ['unknown', async () => generateApiKey(), /it is not in this database/],
    ['revoked', stored({ revokedAt: now }), /was revoked/],
    ['out of date', stored({ expiresAt: now }), /has expired/],
  ];
  let told: string[];
  beforeAll(async () => {
    const given: string[] = [];
    for (const [, credential] of credentials) given.push(await credential());
    const { stdout } = await doctor(given.join('\n'), { OAUTH_REQUIRED_SCOPE: 'lookups.read' });
    for (const secret of given.filter((text) => text.length > 40))
      expect(stdout).not.toContain(secret);
    const findings = stdout.split(/\n(?=\w)/);
    told = [/access token/, /API key /].flatMap((kind) =>
      findings.filter((line) => kind.test(line)),
    );
  });

  it.each(credentials.map(([name, , said], at) => [name, at, said] as const))(
    '%s',
    (_name, at, said) => {
      expect(told[at]).toMatch(new RegExp(`^fault .*${said.source}`));
    },
  );
});
