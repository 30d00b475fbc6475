// Tests a service that requires a scope, a token type and a listed client, and limits requests. The `instance` of a
// problem document contains the request's id. The log line with this id names credential, reason and client.
import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { encodePart } from '../support/issuer.js';
import { type IssuedKey, issueKey } from '../support/api-keys.js';
import { localWorld } from '../support/local-world.js';
import { stopMonotonicClock } from '../support/monotonic-clock.js';
import { PATHS } from '../support/paths.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import type { Reply } from '../support/exchange.js';

const PATH: string = PATHS.orderUpdate;
/** More requests than the other tests of this file send with one key. */
const LIMIT = 40;
const keysByClient: Record<string, IssuedKey> = {};
stopMonotonicClock(); // otherwise the minute of the rate limit could end during its test
const world = localWorld({
  environment: {
    OAUTH_CLIENTS: 'others, tests',
    OAUTH_REQUIRED_SCOPE: 'lookups.read',
    OAUTH_TOKEN_TYPE: 'at+jwt',
    RATE_LIMIT_PER_MINUTE: String(LIMIT),
  },
  prepare: async (database) => {
    const past = new Date(Date.now() - 3_600_000).toISOString();
    keysByClient['Revoked Inc'] = await issueKey(database, { client: 'Revoked Inc', revokedAt: past });
    keysByClient['Expired Ltd'] = await issueKey(database, { client: 'Expired Ltd', expiresAt: past });
    for (const client of ['Scopes', 'Limited']) keysByClient[client] = await issueKey(database, { client });
    keysByClient['test'] = world.key;
  },
});

const token = (claims: object = {}, header: object = {}): Promise<string> =>
  world.issuer.createToken({ claims: { scope: 'lookups.read', ...claims }, header: { ...header } });

interface Sent {
  readonly path?: string;
  readonly headers?: Record<string, string | undefined>;
}

const ask = (client: string, { path = PATH, headers = {} }: Sent): Promise<Reply> =>
  world.get(path, { headers: { 'Api-Key': keysByClient[client]?.key, ...headers } });
const askWith = (client: string, authorization: string): Promise<Reply> =>
  ask(client, { headers: { Authorization: authorization } });

it('OAUTH_REQUIRED_SCOPE: a token without the scope gets 403, which names the scope', async () => {
  const insufficient = [undefined, 'lookups', 'lookups.read.all', ['x'], ['no lookups.read'], 7];
  for (const scope of insufficient) {
    const reply = await askWith('Scopes', await token({ scope }));
    expectProblem(reply, 'insufficient-scope');
    expect(reply.headers.get('www-authenticate')).toBe(
      'Bearer realm="order-lookup-services", error="insufficient_scope", scope="lookups.read"',
    );
  }
  const sufficient = [
    { scope: 'other lookups.read' },
    { scope: '', scp: 'lookups.read' },
    { scope: '', scp: ['lookups.read'] },
  ];
  for (const claims of sufficient) {
    expect((await askWith('Scopes', await token(claims))).status).toBe(200);
  }
});

it('RATE_LIMIT_PER_MINUTE counts every request with a valid key, also those that are refused', async () => {
  const Authorization = await token();
  const good: Sent = { headers: { Authorization } };
  const unchanged: Sent = { headers: { Authorization, 'If-None-Match': '*' } };
  const forged: Sent = { headers: { Authorization: 'Bearer a.b.c' } };
  const invalid: Sent = { ...good, path: `${PATHS.communicationCodes}?x=1` };
  const withoutScope: Sent = { headers: { Authorization: world.token } };
  const expectReply = async (sent: Sent, status: number, left: number): Promise<Reply> => {
    const reply = await ask('Limited', sent);
    expect(reply.status).toBe(status);
    expect(reply.headers.get('ratelimit')).toMatch(new RegExp(`^"key";r=${left};t=\\d+$`));
    return reply;
  };
  const first = await expectReply(good, 200, LIMIT - 1);
  expect(first.headers.get('ratelimit-policy')).toBe(`"key";q=${LIMIT};w=60`);
  await expectReply(unchanged, 304, LIMIT - 2);
  const refused = await expectReply(forged, 401, LIMIT - 3);
  expect(refused.headers.get('www-authenticate')).toMatch(/^ApiKey .*, Bearer /);
  await expectReply(invalid, 400, LIMIT - 4);
  await expectReply(withoutScope, 403, LIMIT - 5);
  for (let left = LIMIT - 6; left >= 0; left--) await expectReply(good, 200, left);
  const beyond = await expectReply(good, 429, 0);
  expectProblem(beyond, 'too-many-requests');
  expect(Number(beyond.headers.get('retry-after'))).toBeGreaterThan(0);
  await expectReply(forged, 429, 0);
  await expectReply(unchanged, 429, 0);
  expect((await ask('Scopes', good)).status).toBe(200);
});

interface Refusal {
  readonly what: string;
  readonly reason: string;
  /** The member `tokenClient` of the log line. */
  readonly tokenClient?: string;
  readonly status: number;
  readonly credential: string;
  /** The client whose API key is sent. */
  readonly client?: string;
  /** Returns the API key that is sent if `client` is left out. */
  readonly key?: () => string | undefined;
  readonly authorization?: () => Promise<string | undefined>;
}

/** Returns a token with another header. Its signature is wrong, but the service checks the header first. */
async function withHeader(header: object): Promise<string> {
  return (await token()).replace(/^[^.]+/, encodePart(header));
}
const sends = (text: string | undefined) => async (): Promise<string | undefined> => text;

const REFUSED_KEYS: readonly Refusal[] = [
  { what: 'a revoked API key', reason: 'revoked', status: 401, credential: 'api_key', client: 'Revoked Inc' },
  { what: 'an expired API key', reason: 'expired', status: 401, credential: 'api_key', client: 'Expired Ltd' },
  { what: 'an unknown API key', reason: 'unknown', status: 401, credential: 'api_key', key: generateApiKey },
  { what: 'a mistyped API key', reason: 'malformed', status: 401, credential: 'api_key', key: () => 'ols_mistyped' },
  { what: 'no API key', reason: 'missing', status: 401, credential: 'api_key', key: () => undefined },
  {
    what: 'neither credential',
    reason: 'missing, missing',
    status: 401,
    credential: 'api_key, access_token',
    key: () => undefined,
    authorization: sends(undefined),
  },
];

/** An encrypted token, which has five parts (RFC 7516). */
const ENCRYPTED = `${encodePart({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`;

type TokenRefusal = Pick<Refusal, 'what' | 'reason' | 'authorization' | 'tokenClient'>;

/** Tokens whose signature was not verified. So the log does not name their clients. */
const UNVERIFIED_TOKENS: readonly TokenRefusal[] = [
  { what: 'no token', reason: 'missing', authorization: sends(undefined) },
  { what: 'the scheme Basic', reason: 'scheme', authorization: sends('Basic dXNlcjpwYXNz') },
  { what: 'an opaque token', reason: 'not-a-jwt', authorization: sends('an-opaque-token') },
  { what: 'an encrypted token', reason: 'not-a-jwt', authorization: sends(ENCRYPTED) },
  { what: 'a token with padding', reason: 'malformed', authorization: async () => `${await token()}=` },
  { what: 'a token that is too long', reason: 'too-long', authorization: () => token({ padding: 'x'.repeat(9_200) }) },
  { what: 'a token of another issuer', reason: 'issuer', authorization: () => token({ iss: 'https://other' }) },
  { what: 'a token with the algorithm none', reason: 'algorithm', authorization: () => withHeader({ alg: 'none' }) },
  { what: 'a token with crit', reason: 'critical', authorization: () => withHeader({ alg: 'RS256', crit: ['x'] }) },
  {
    what: 'a token with a short signature',
    reason: 'signature',
    authorization: async () => (await token()).replace(/[^.]+$/, 'AAAA'),
  },
  { what: 'a token with an unknown key id', reason: 'unknown-key', authorization: () => token({}, { kid: 'second' }) },
];
const VERIFIED_TOKENS: readonly TokenRefusal[] = [
  { what: 'an expired token', reason: 'expired', authorization: () => token({ exp: 1 }) },
  { what: 'a token for another audience', reason: 'audience', authorization: () => token({ aud: 'other' }) },
  { what: 'a token of the type JWT', reason: 'type', authorization: () => token({}, { typ: 'JWT' }) },
  { what: 'a token without a type', reason: 'type', authorization: () => token({}, { typ: undefined }) },
  { what: 'a token whose iat is a text', reason: 'claims', authorization: () => token({ iat: 'yesterday' }) },
  { what: 'an ID token', reason: 'another-kind', authorization: () => token({ typ: 'ID' }) },
  { what: 'a token without exp', reason: 'no-expiry', authorization: () => token({ exp: undefined }) },
  { what: 'a token that begins in 2100', reason: 'not-before', authorization: () => token({ nbf: 4_102_444_800 }) },
  { what: 'a token without the scope', reason: 'scope', authorization: () => token({ scope: 'other' }) },
  {
    what: 'a token of a client that is not listed',
    reason: 'client',
    tokenClient: 'foreign',
    authorization: () => token({ client_id: 'foreign', azp: 'tests' }),
  },
];
const REFUSED_TOKENS = [
  ...UNVERIFIED_TOKENS,
  ...VERIFIED_TOKENS.map((refusal) => ({ tokenClient: 'tests', ...refusal })),
].map((refusal) => {
  const status = refusal.reason === 'scope' ? 403 : 401;
  return { ...refusal, status, credential: 'access_token', client: 'test' };
});

it.each<Refusal>([...REFUSED_KEYS, ...REFUSED_TOKENS])(
  '$what gets $status, and the log line has the credential "$credential" and the reason "$reason"',
  async (refusal) => {
    const { reason, status, credential, client = '', authorization = token } = refusal;
    const owner = keysByClient[client];
    const key = owner?.key ?? refusal.key?.();
    const sent = await authorization();
    const reply = await world.get(PATH, { headers: { 'Api-Key': key, Authorization: sent } });
    const id = (JSON.parse(reply.text) as ProblemBody).instance.replace('urn:uuid:', '');
    const line = await world.service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({
      level: 'info', // a caller must not cause an alarm
      statusCode: status,
      credential,
      reason,
      address: '127.0.0.1',
    });
    expect(reply.status).toBe(status);
    expect(line['client']).toBe(owner && client);
    expect(line['keyId']).toBe(owner?.id);
    expect(line['tokenClient']).toBe(refusal.tokenClient);
    for (const secret of [key, sent]) expectNotShown(secret, reply.text);
  },
);

it.each([
  // Node.js joins the values of a repeated header by a comma
  {
    credential: 'api_key',
    repeat: (key: string, sent: string) => ({ 'Api-Key': `${key}, ols_of_the_gateway`, Authorization: sent }),
  },
  {
    credential: 'access_token',
    repeat: (key: string, sent: string) => ({ 'Api-Key': key, Authorization: `${sent}, Basic x` }),
  },
])(
  'a repeated $credential gets 400, and the log line names the reason and the client',
  async ({ credential, repeat }) => {
    const sent = await token();
    const reply = await world.get(PATH, { headers: repeat(world.key.key, sent) });
    expectProblem(reply, 'malformed-request');
    const id = reply.headers.get('x-request-id');
    const line = await world.service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ level: 'info', credential, reason: 'repeated', client: 'test', keyId: world.key.id });
    const counter = `order_lookup_credentials_refused_total{credential="${credential}",reason="repeated"}`;
    expect(await world.service.readMetric(counter)).toBe(1);
    for (const secret of [world.key.key, sent]) expectNotShown(secret, reply.text);
  },
);

it('the log line of an accepted request names the client of the key and the client of the token', async () => {
  const service = await world.startReplica({ LOG_LEVEL: 'debug' });
  await service.waitUntilReady();
  const authorization = await token({ client_id: 'others' });
  // The service remembers the token after the first request, and does not verify it again for the second request
  for (const id of [randomUUID(), randomUUID()]) {
    const headers = { Authorization: authorization, 'X-Request-Id': id };
    expect(await world.get(PATH, { service, headers })).toMatchObject({ status: 200 });
    const line = await service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ client: 'test', tokenClient: 'others' });
  }
});

/**
 * Asserts that neither the answer nor the log contains the beginning or the end of the secret. Ignores texts of 20
 * characters or less.
 */
function expectNotShown(secret: string | undefined, answer: string): void {
  if (secret === undefined || secret.length <= 20) return;
  for (const text of [answer, world.service.output]) {
    expect(text).not.toContain(secret.slice(0, 20));
    expect(text).not.toContain(secret.slice(-20));
  }
}
