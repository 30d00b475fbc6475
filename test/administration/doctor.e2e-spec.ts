import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer, signingKey } from '../support/issuer.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { run } from '../support/program.js';

let database: TestDatabase;
let issuer: Issuer;
let key: IssuedKey;

beforeAll(async () => {
  [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
  key = await issueKey(database);
});
afterAll(() => Promise.all([issuer.close(), database.drop()]));

/** The doctor with a surrounding in which everything is right, but for what `environment` changes. */
const doctor = (input = '', environment: Record<string, string> = {}, ...words: string[]) =>
  run(
    'doctor.js',
    words,
    { DATABASE_URL: database.urlOf('order_lookup_service'), ...issuer.environment, ...environment },
    input,
  );

describe('npm run doctor', () => {
  it('finds no fault where there is none, and shows no byte of a credential', async () => {
    const token = await issuer.token();
    const input = `${key.key}\nAuthorization: Bearer ${token}\n`;
    const { status, stdout, stderr } = await doctor(input, {}, '--json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const found = JSON.parse(stdout) as { subject: string; state: string }[];
    const subjects =
      'configuration,database,migrations,role,contents,triggers,API key,issuer,access token';
    expect(found.map(({ subject, state }) => `${subject} ${state}`)).toEqual(
      subjects.split(',').map((subject) => `${subject} ok`),
    );
    for (const secret of [key.key, ...token.split('.'), 'tests-only'])
      expect(stdout).not.toContain(secret);
  });

  it.each<[string, () => Record<string, string>, RegExp[]]>([
    [
      'a configuration that is not complete, and a database that is away',
      () => ({ OAUTH_AUDIENCE: '', DATABASE_URL: 'postgres://a:b@127.0.0.1:9/x' }),
      [/fault {4}configuration .*OAUTH_AUDIENCE is not set/, /fault {4}database .*ECONNREFUSED/],
    ],
    [
      'a wrong password, and an issuer whose metadata has another name',
      () => ({
        DATABASE_URL: database.url.replace('tests-only', 'wrong'),
        OAUTH_ISSUER: `${issuer.url}/`,
      }),
      [/fault .*password authentication/, /fault {4}issuer .*OAUTH_ISSUER has to be exactly that/],
    ],
    [
      'a role that may write',
      () => ({ DATABASE_URL: database.urlOf('order_lookup_owner') }),
      [/warning {2}role .*may write too/, /keep the service from working: none/],
    ],
  ])('tells of %s', async (_name, environment, told) => {
    const { status, stdout, stderr } = await doctor('', environment());
    expect({ status, stderr }).toEqual({ status: stdout.includes('fault ') ? 2 : 0, stderr: '' });
    for (const said of told) expect(stdout).toMatch(said);
  });

  it.each([
    ['down', /fault {4}issuer .*does not answer/],
    ['html', /fault {4}issuer .*is not valid JSON/],
    ['empty set', /fault {4}issuer .* 0 signing keys/],
  ] as const)('tells of an issuer that fails: %s', async (fault, said) => {
    issuer.fault = fault;
    const { status, stdout } = await doctor(await issuer.token());
    issuer.fault = 'none';
    expect(status).toBe(2);
    expect(stdout).toMatch(said);
    expect(stdout).toMatch(/fault {4}access token .*no applicable key/);
  });

  it('names pending migrations, what the role may not read, and what the service would refuse or not notice', async () => {
    const [empty, spoilt] = await Promise.all([
      createDatabase({ migrated: false }),
      createDatabase(),
    ]);
    const { status, stdout } = await doctor('', { DATABASE_URL: empty.url });
    expect(status).toBe(2);
    expect(stdout).toMatch(
      /fault {4}migrations {5}pending: 0001_create_code_tables, [^]*→ .*node dist\/migrate\.js up/,
    );
    const told = async (sql: string): Promise<string> => {
      await spoilt.query(sql);
      return (await doctor('', { DATABASE_URL: spoilt.urlOf('order_lookup_service') })).stdout;
    };
    const revoked = await told('revoke select on communication_code from order_lookup_service');
    expect(revoked).toMatch(/fault {4}role .*order_lookup_service may not read communication_code/);
    const corrected = await told(
      `${/As the owner: (grant .*;)/.exec(revoked)?.[1]} alter table api_key disable trigger record_update;
       drop trigger record_delete on code_list; delete from area_property where area = 'order-update'`,
    );
    expect(corrected).toMatch(/ok {7}role/);
    expect(corrected).toMatch(/fault {4}contents .*the area order-update has no property/);
    expect(corrected).toMatch(
      /fault {4}triggers .*record_update of api_key is switched off, the trigger record_delete of code_list is missing/,
    );
    expect(await told('alter table communication_code enable row level security')).toMatch(
      /fault {4}contents .*row-level security/,
    );
    await Promise.all([empty.drop(), spoilt.drop()]);
  });

  const seconds = Math.floor(Date.now() / 1000);
  const withClaims = (claims: Record<string, unknown>) => () => issuer.token({ claims });
  const signedBy = (alg: string, kid: string) => async () =>
    issuer.token({ key: await signingKey(alg, kid) });
  const stored = (end: { revokedAt?: string; expiresAt?: string }) => async () =>
    (await issueKey(database, end)).key;
  const now = new Date().toISOString();
  const credentials: [string, () => Promise<string>, RegExp][] = [
    ['access token', withClaims({ exp: 1e9 }), /reason "expired".*"exp":1000000000/],
    ['access token', withClaims({ exp: undefined }), /reason "no-expiry"/],
    ['access token', withClaims({ nbf: seconds + 600 }), /reason "not-before".*"nbf":\d+/],
    ['access token', withClaims({ iss: 'o' }), /reason "issuer".*"iss":"o"/],
    ['access token', withClaims({ aud: ['a'] }), /reason "audience".*"aud":\["a"\]/],
    ['access token', signedBy('ES256', 'other'), /no applicable key.*"kid":"other"/],
    ['access token', signedBy('RS256', 'rsa-1'), /signature verification failed/],
    ['access token', withClaims({ at_hash: 'x' }), /reason "another-kind"/],
    ['access token', async () => 'a.b.c.d.e', /of 3 parts: 5 parts/],
    ['access token', async () => 'a.b.c', /it is no signed JWT/],
    ['access token', () => issuer.token(), /it lacks the scope lookups.read: 403/],
    ['API key', async () => key.key.slice(0, -1), /its checksum does not fit/],
    ['API key', async () => generateApiKey(), /it is not in this database/],
    ['API key', stored({ revokedAt: now }), /has ended/],
    ['API key', stored({ expiresAt: now }), /has expired/],
  ];
  it('says in one sentence why a credential does not pass', async () => {
    const given: string[] = [];
    for (const [, credential] of credentials) given.push(await credential());
    const { stdout } = await doctor(given.join('\n'), { OAUTH_REQUIRED_SCOPE: 'lookups.read' });
    for (const secret of given.filter((text) => text.length > 40))
      expect(stdout).not.toContain(secret);
    const findings = stdout.split(/\n(?=\w)/);
    for (const subject of ['access token', 'API key']) {
      const told = findings.filter((line) => line.startsWith(`fault    ${subject}`));
      const expected = credentials.filter(([kind]) => kind === subject);
      expect(told).toEqual(expected.map(([, , said]) => expect.stringMatching(said)));
    }
  });
});
