import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { afterAll, expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { CertificateAuthority } from '../support/certificates.js';
import { withoutLimits } from '../support/clocks.js';
import { createDatabase, queryAt } from '../support/database.js';
import { Issuer, signingKey } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { listen } from '../support/listen.js';
import { run } from '../support/program.js';

const [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
const key = await issueKey(database);
issuer.published.push(issuer.signer.jwk); // twice, which the service accepts
afterAll(() => Promise.all([issuer.close(), database.drop()]));

/** In which its input has to begin, and an issuer to answer. */
const LIMITS = [500, 2_000];

/** The doctor with a surrounding in which everything is right, but for what `environment` changes. */
async function doctor(input = '', environment: Record<string, string> = {}) {
  const DATABASE_URL = database.urlOf('order_lookup_service');
  const all = { DATABASE_URL, ...issuer.environment, ...withoutLimits(...LIMITS), ...environment };
  const { status, stdout, stderr } = await run('doctor.js', [], all, input);
  const words = stderr.replace(/^Warning: Ignoring extra certs from .*\n/, ''); // of Node.js itself
  expect({ status, words }).toEqual({ status: /^fault/m.test(stdout) ? 2 : 0, words: '' });
  return stdout;
}

/** The statements that the doctor prints for the owner. */
function pastedFrom(stdout: string): string {
  const [, statements = ''] = /As the owner:\n((?:.*;\n)+)/.exec(stdout) ?? [];
  return statements;
}

it('finds no fault where there is none, and shows no byte of a credential', async () => {
  const token = await issuer.token();
  const stdout = await doctor(`${key.key}\nAuthorization: Bearer ${token}\n`);
  const subjects = stdout.match(/^ok {7}[\w.]+( \w+)?(?=  )/gm)?.map((line) => line.slice(9));
  expect(subjects).toEqual([
    ...[
      'Node.js',
      'configuration',
      'database',
      'migrations',
      'role',
      'contents',
      'objects',
      'sequences',
    ],
    ...['characters', 'API key', 'issuer', 'access token'],
  ]);
  expect(stdout).toMatch(/\n\nCalls are answered\.\n$/);
  for (const secret of [key.key, ...token.split('.'), 'tests-only'])
    expect(stdout).not.toContain(secret);
});

it.each<[() => Record<string, string>, RegExp, RegExp]>([
  [
    () => ({ OAUTH_AUDIENCE: '', DATABASE_URL: 'postgres://a:b@127.0.0.1:9/x' }),
    /^fault {4}configuration .*OAUTH_AUDIENCE is not set/m,
    /^fault {4}database .*ECONNREFUSED.* Start the server, or correct host[^]* Correct configuration, database\.\n$/m,
  ],
  [
    () => ({
      DATABASE_URL: database.url.replace('tests-only', 'wrong'),
      OAUTH_ISSUER: `${issuer.url}/`,
    }),
    /^fault {4}database .*password authentication.* Correct role and password/m,
    /^fault {4}issuer .*OAUTH_ISSUER has to be the exact iss/m,
  ],
  [
    () => ({ DATABASE_URL: database.url.replace(/\/\w+$/, '/no_database') }),
    /^fault {4}database .*does not exist\. Correct the database in DATABASE_URL, or create it/m,
    /\nCalls are not answered\. Correct database\.\n$/,
  ],
  [
    () => ({ DATABASE_URL: 'postgres://a:b@database.invalid/x' }),
    /^fault {4}database .*database\.invalid.* correct host and port in DATABASE_URL/m,
    /\nCalls are not answered\. Correct database\.\n$/,
  ],
  [
    () => ({
      DATABASE_URL: database.urlOf('order_lookup_owner'),
      DRAIN_SECOND: '3',
    }),
    /^warning {2}configuration .*\n.*DRAIN_SECOND is unknown/m,
    /^warning {2}role .*may write too[^]*\nCalls are answered\.\n$/m,
  ],
])('tells of a surrounding that is wrong: %s', async (environment, one, other) => {
  const stdout = await doctor('', environment());
  expect(stdout).toMatch(one);
  expect(stdout).toMatch(other);
});

it.each([
  ['down', /^fault {4}issuer .*does not answer/m, /^warning {2}access token .*was not checked/m],
  ['html', /^fault {4}issuer .*is not valid JSON/m, /^warning {2}access token .*was not checked/m],
  ['empty set', /^fault {4}issuer .* 0 signing keys/m, /^fault {4}access token .*no key of its/m],
] as const)('tells of an issuer that fails: %s', async (fault, ofIssuer, ofToken) => {
  issuer.fault = fault;
  const stdout = await doctor(await issuer.token());
  issuer.fault = 'none';
  expect(stdout).toMatch(ofIssuer);
  expect(stdout).toMatch(ofToken);
});

it('tells of an https issuer whose keys would come over plain http', async () => {
  const authority = new CertificateAuthority();
  const { cert, key: tlsKey } = authority.issue('localhost', 'IP:127.0.0.1');
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(tlsKey) });
  const url = `https://127.0.0.1:${await listen(server.unref())}`;
  const metadata = JSON.stringify({ issuer: url, jwks_uri: `${issuer.url}/jwks` });
  server.on('request', (_request, response) => response.end(metadata));
  const trusted = { OAUTH_ISSUER: url, NODE_EXTRA_CA_CERTS: authority.cert };
  expect(await doctor('', trusted)).toMatch(/^fault {4}issuer .*jwks_uri without https/m);
  server.closeAllConnections();
  server.close();
  authority.remove();
});

it('names pending migrations, what the role may not read, and what the service would not serve', async () => {
  const empty = await createDatabase({ migrated: false });
  expect(await doctor('', { DATABASE_URL: empty.url })).toMatch(
    /^fault {4}migrations {5}pending: 0001_create_code_tables, [^]*→ .*node dist\/migrate\.js up/m,
  );
  const spoilt = await createDatabase();
  const after = async (sql: string): Promise<string> => {
    await spoilt.query(sql);
    return doctor('', { DATABASE_URL: spoilt.urlOf('order_lookup_service') });
  };
  const revoked = await after('revoke select on communication_code from order_lookup_service');
  expect(revoked).toMatch(/^fault {4}role .*order_lookup_service may not read communication_code/m);
  const corrected = await after(
    `${/As the owner: (grant .*;)/.exec(revoked)?.[1]} alter table api_key disable trigger record_update;
     drop trigger record_delete on code_list; delete from area_property where area = 'order-update'`,
  );
  expect(corrected).toMatch(/^ok {7}role/m);
  expect(corrected).toMatch(/^fault {4}contents .*the area order-update has no property/m);
  expect(corrected).toMatch(
    /^fault {4}objects .*record_delete of code_list is missing, .*\n *→ As the owner:\ndrop trigger/m,
  );
  const twice = await after(
    `insert into area_property select 'order-update', property, position, code_list from area_property;
     alter table code_list_value drop constraint code_list_value_is_unique_in_its_list;
     insert into code_list_value (code_list, value) values ('orderType', 'Return')`,
  );
  expect(twice).toMatch(
    /^fault {4}contents .*code_list_value holds the key \('orderType', 'Return'\) twice/m,
  );
  expect(await after('alter table communication_code enable row level security')).toMatch(
    /^fault {4}contents .*row-level security/m,
  );
  expect(await after('revoke usage on schema public from public, order_lookup_service')).toMatch(
    /^fault {4}role .*permission denied for schema public\n *→ .*grant usage on schema public/m,
  );
  await Promise.all([empty.drop(), spoilt.drop()]);
});

it('names sequences that a move of the tables left behind, with the statement that mends them', async () => {
  const moved = await createDatabase();
  const owner = moved.urlOf('order_lookup_owner');
  const examined = () => doctor('', { DATABASE_URL: moved.urlOf('order_lookup_service') });
  await queryAt(
    owner,
    `select setval('history_id_seq', 1), setval('pgmigrations_id_seq', 1, false)`,
  );
  const stdout = await examined();
  expect(stdout).toMatch(
    /^fault {4}sequences {6}behind their tables: history_id_seq, pgmigrations_id_seq$/m,
  );
  expect(stdout).toMatch(/\nCalls are answered\.\n$/);
  await queryAt(owner, pastedFrom(stdout));
  expect(await examined()).toMatch(/^ok {7}sequences/m);
  await moved.addValue('after the move');
  await moved.drop();
});

it('names rows with characters that nobody sees, which were there before, and how to rename them', async () => {
  const old = await createDatabase();
  const examined = () => doctor('', { DATABASE_URL: old.urlOf('order_lookup_service') });
  const constraints = await old.query<{ remove: string; add: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as remove,
       format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as add
     from pg_constraint where conname like '%_has_no_invisible_characters'`,
  );
  for (const { remove } of constraints) await old.query(remove);
  await old.query(
    `insert into communication_code values
       ('T', 'A' || chr(8203) || '''B', 'x'), ('T' || chr(160) || 'X', 'C', 'x');
     insert into code_list_value (code_list, value) values
       ('orderType', 'Soft' || chr(173)), ('orderType', chr(12644));
     insert into api_key (client, key_hash) values ('Acme' || chr(8288), sha256('1'));
     insert into api_key (client, key_hash, revoked_at) values ('Gone' || chr(8288), sha256('2'), now())`,
  );
  for (const { add } of constraints) await old.query(add);
  const stdout = await examined();
  const names = [
    'code_list_value.value "Soft\\u00ad"',
    'code_list_value.value "\\u3164"',
    `communication_code.code "A\\u200b'B"`,
    'communication_code.code_type "T\\u00a0X"',
    'api_key.client "Acme\\u2060"',
  ];
  expect(/^warning {2}characters .* all of (.*)$/m.exec(stdout)?.[1]).toBe(names.join(', '));
  expect(stdout).toMatch(/\nCalls are answered\.\n$/);
  await queryAt(old.urlOf('order_lookup_owner'), pastedFrom(stdout));
  expect(await examined()).toMatch(/^ok {7}characters/m);
  const renamed = await old.query('select code_type, code from communication_code order by 1, 2');
  expect(renamed).toEqual([
    { code_type: 'T', code: "A'B" },
    { code_type: 'T X', code: 'C' },
  ]);
  await old.drop();
});

it('tells of variables of Node.js that cannot work', async () => {
  const stdout = await doctor('', { NODE_EXTRA_CA_CERTS: '/no/ca.pem' });
  expect(stdout).toMatch(
    /^warning {2}Node\.js .*\n.*→ NODE_EXTRA_CA_CERTS names \/no\/ca\.pem, which cannot be read/m,
  );
});

it('says in one sentence why a credential does not pass', async () => {
  const signedBy = async (alg: string, kid: string) =>
    issuer.token({ key: await signingKey(alg, kid) });
  const now = new Date().toISOString();
  const tokens: [string, RegExp][] = [
    [await issuer.token({ claims: { exp: 1e9 } }), /reason "expired".*"exp":1000000000/],
    [await issuer.token({ claims: { aud: ['a'] } }), /reason "audience".*"aud":\["a"\]/],
    [await signedBy('ES256', 'other'), /no key of its issuer verifies .*"kid":"other"/],
    [await signedBy('RS256', 'rsa-1'), /no key of its issuer verifies .*"kid":"rsa-1"/],
    [
      await issuer.token({ claims: { padding: 'x'.repeat(9_200) } }),
      / \d{5} bytes; .* at most 12288 bytes is needed/,
    ],
    [await issuer.token({ claims: { client_id: 'foreign' } }), /"client".*"client_id":"foreign"/],
    [await issuer.token({ claims: { iss: 'other' } }), /reason "issuer".*"iss":"other"/],
    ['a.b.c.d.e', /it has 5 parts .* of 3 parts/],
    [await issuer.token(), /it lacks the scope lookups.read: 403/],
  ];
  const keys: [string, RegExp][] = [
    [key.key.slice(0, -1), /its checksum does not fit/],
    [generateApiKey(), /it is not in this database/],
    [(await issueKey(database, { revokedAt: now })).key, /has ended/],
    [(await issueKey(database, { expiresAt: now })).key, /has expired/],
  ];
  const given = [...tokens, ...keys].map(([credential]) => credential);
  const settings = { OAUTH_REQUIRED_SCOPE: 'lookups.read', OAUTH_CLIENTS: 'tests' };
  const stdout = await doctor(given.join('\n'), settings);
  for (const advice of ['fewer groups', 'add it to OAUTH_CLIENTS', 'Ask an issuer of OAUTH_ISSUER'])
    expect(stdout).toContain(advice);
  for (const secret of given) expect(stdout).not.toContain(secret);
  const faultsOf = (subject: string) => stdout.match(new RegExp(`^fault {4}${subject} .*$`, 'gm'));
  const expected = (all: [string, RegExp][]) => all.map(([, why]) => expect.stringMatching(why));
  expect(faultsOf('access token')).toEqual(expected(tokens));
  expect(faultsOf('API key')).toEqual(expected(keys));
  expect(stdout).toMatch(/\nCalls are answered\. Refused: API key, access token\.\n$/);
});
