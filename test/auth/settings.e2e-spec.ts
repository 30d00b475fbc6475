// A service with a scope, a token type and a rate limit; and what its log says of refusals. "Our call got 401, id X": whoever has only the
// `instance` finds in one line which credential was refused, why, and whose key it was.
import { expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { patient } from '../support/clocks.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { PATHS } from '../support/paths.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { testWorld } from '../support/test-world.js';

const PATH: string = PATHS.orderUpdate;
const LIMIT = 40;
const keys: Record<string, IssuedKey> = {};
const world = testWorld(
  {
    ...patient,
    OAUTH_CLIENTS: 'others, tests',
    OAUTH_REQUIRED_SCOPE: 'lookups.read',
    OAUTH_TOKEN_TYPE: 'at+jwt',
    RATE_LIMIT_PER_MINUTE: String(LIMIT),
  },
  async (database) => {
    const past = new Date(Date.now() - 3_600_000).toISOString();
    keys['Revoked Inc'] = await issueKey(database, { client: 'Revoked Inc', revokedAt: past });
    keys['Expired Ltd'] = await issueKey(database, { client: 'Expired Ltd', expiresAt: past });
    for (const client of ['Scopes', 'Limited']) keys[client] = await issueKey(database, { client });
    keys['test'] = world.key;
  },
);

const token = (claims: object = {}, header = {}): Promise<string> =>
  world.issuer.token({ claims: { scope: 'lookups.read', ...claims }, header });
const ask = (client: string, Authorization?: string, headers = {}, path = PATH) =>
  world.get(path, { headers: { 'Api-Key': keys[client]?.key, Authorization, ...headers } });

it('OAUTH_REQUIRED_SCOPE answers 403 with the scope that lacks', async () => {
  const lacking = [undefined, 'lookups', 'lookups.read.all', ['x'], ['no lookups.read'], 7];
  for (const claims of lacking.map((scope) => ({ scope }))) {
    const reply = await ask('Scopes', await token(claims));
    expectProblem(reply, 'insufficient-scope');
    expect(reply.headers.get('www-authenticate')).toBe(
      'Bearer realm="order-lookup-services", error="insufficient_scope", scope="lookups.read"',
    );
  }
  const [scope, scp] = ['other lookups.read', 'lookups.read'];
  for (const claims of [{ scope }, { scope: '', scp }, { scope: '', scp: [scp] }])
    expect((await ask('Scopes', await token(claims))).status).toBe(200);
});

it('OAUTH_TOKEN_TYPE=at+jwt demands that type', async () => {
  for (const typ of ['JWT', undefined])
    expectProblem(await ask('Scopes', await token({}, { typ })), 'invalid-credentials');
});

it('RATE_LIMIT_PER_MINUTE counts every request with a valid key, whatever its answer, but 304, also beyond it', async () => {
  const good = await token();
  const expectLeft = async (left: number | undefined, status: number, ...sent: unknown[]) => {
    const [authorization = good, headers, path] = sent as [string?, object?, string?];
    const reply = await ask('Limited', authorization, headers, path);
    const { headers: fields } = reply;
    expect({
      status: reply.status,
      left: /r=(\d+);t=/.exec(fields.get('ratelimit') ?? '')?.[1],
    }).toEqual({ status, left: left === undefined ? undefined : String(left) });
    return fields;
  };
  const same = [good, { 'If-None-Match': '*' }];
  const first = await expectLeft(LIMIT - 1, 200);
  expect(first.get('ratelimit-policy')).toBe(`"key";q=${LIMIT};w=60`);
  await expectLeft(undefined, 304, ...same);
  const refused = await expectLeft(LIMIT - 2, 401, 'Bearer a.b.c');
  expect(refused.get('www-authenticate')).toMatch(/^ApiKey .*, Bearer /);
  await expectLeft(LIMIT - 3, 400, good, {}, `${PATHS.communicationCodes}?x=1`);
  await expectLeft(LIMIT - 4, 403, world.token);
  for (let left = LIMIT - 5; left >= 0; left--) await expectLeft(left, 200);
  expect(Number((await expectLeft(0, 429)).get('retry-after'))).toBeGreaterThan(0);
  await expectLeft(0, 429, 'Bearer a.b.c');
  for (let poll = 0; poll < 3; poll++) await expectLeft(undefined, 304, ...same);
  const other = { 'If-None-Match': '"other"' };
  await expectLeft(0, 429, good, other);
  await expectLeft(0, 429, 'Bearer a.b.c', other);
  await expectLeft(0, 429, good, other, `${PATHS.communicationCodes}?x=1`);
  expect((await ask('Scopes', good)).status).toBe(200);
});

type Refusal = [reason: string, status: number, credential: string, client?: string, sent?: string];
const NOT_OURS: Record<string, string | undefined> = {
  unknown: generateApiKey(),
  malformed: 'ols_mistyped',
  missing: undefined,
};
const TOKENS: Record<string, () => Promise<string> | string | undefined> = {
  missing: () => undefined,
  scheme: () => 'Basic dXNlcjpwYXNz',
  malformed: () => 'a.b',
  expired: () => token({ exp: 1 }),
  'too-long': () => token({ padding: 'x'.repeat(9_200) }),
  audience: () => token({ aud: 'other' }),
  client: () => token({ client_id: 'foreign', azp: 'tests' }),
  issuer: () => token({ iss: 'https://other' }),
  type: () => token({}, { typ: 'JWT' }),
  algorithm: async () => (await token()).replace(/^[^.]+/, 'eyJhbGciOiJub25lIn0'),
  signature: async () => (await token()).replace(/[^.]+$/, 'AAAA'),
  'unknown-key': () => token({}, { kid: 'no key id' }),
  'signing-keys-not-fetched': () => token({}, { kid: 'second' }),
  scope: () => token({ scope: 'other' }),
};

it.each<Refusal>([
  ['revoked', 401, 'api_key', 'Revoked Inc'],
  ['expired', 401, 'api_key', 'Expired Ltd'],
  ...Object.keys(NOT_OURS).map((reason): Refusal => [reason, 401, 'api_key']),
  ['missing, missing', 401, 'api_key, access_token', undefined, 'missing'],
  ['revoked, expired', 401, 'api_key, access_token', 'Revoked Inc', 'expired'],
  ...Object.keys(TOKENS).map((reason): Refusal => {
    const status = reason === 'scope' ? 403 : reason === 'signing-keys-not-fetched' ? 503 : 401;
    return [reason, status, 'access_token', 'test', reason];
  }),
])(
  '%s: %i, and the line of its instance names the %s',
  async (...[reason, status, credential, client, sent]: Refusal) => {
    const key = client === undefined ? NOT_OURS[reason] : keys[client]?.key;
    const authorization = sent === undefined ? await token() : await TOKENS[sent]?.();
    const headers = { 'Api-Key': key, Authorization: authorization };
    const reply = await world.get(PATH, { headers });
    const id = (JSON.parse(reply.text) as ProblemBody).instance.replace('urn:uuid:', '');
    const line = await world.service.waitForLog(({ requestId }) => requestId === id);
    const level = status === 503 ? 'warn' : 'info'; // no caller sets off alarms
    const shown = { level, statusCode: status, credential, reason, address: '127.0.0.1' };
    expect(line).toMatchObject(shown);
    const keyId = client === undefined ? undefined : keys[client]?.id;
    expect([reply.status, line['client'], line['keyId']]).toEqual([status, client, keyId]);
    const secrets = [key, authorization].filter((one = '') => one.length > 20) as string[];
    for (const part of secrets.flatMap((secret) => [secret.slice(-20), secret.slice(0, 20)]))
      expect(`${world.service.output}${reply.text}`).not.toContain(part);
  },
);
