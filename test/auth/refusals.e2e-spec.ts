// "Our call got 401, id X": whoever has only the `instance` finds in one line of the log which credential was refused, why, and whose key it was.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { PATHS } from '../support/paths.js';
import type { ProblemBody } from '../support/problem.js';
import { World } from '../support/world.js';

const HOUR = 3_600_000;
let world: World;
let revoked: IssuedKey;
let expired: IssuedKey;
beforeAll(async () => {
  world = await World.create({ OAUTH_REQUIRED_SCOPE: 'lookups' }, async (database) => {
    const past = new Date(Date.now() - HOUR).toISOString();
    revoked = await issueKey(database, { client: 'Revoked Inc', revokedAt: past });
    expired = await issueKey(database, { client: 'Expired Ltd', expiresAt: past });
  });
});
afterAll(() => world?.close());

const token = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  world.issuer.token({ claims: { scope: 'lookups', ...claims }, header });
const seconds = (): number => Math.floor(Date.now() / 1000);
const ours = () => ({ keyId: world.key.id, client: 'test' });
const none = () => ({ keyId: undefined, client: undefined });
type Sent = [key: string | undefined, token: string | undefined];

it.each<[string, number, string, () => Promise<Sent>, () => object]>([
  [
    'revoked',
    401,
    'api_key',
    async () => [revoked.key, await token()],
    () => ({ keyId: revoked.id, client: 'Revoked Inc' }),
  ],
  [
    'expired',
    401,
    'api_key',
    async () => [expired.key, await token()],
    () => ({ keyId: expired.id, client: 'Expired Ltd' }),
  ],
  ['unknown', 401, 'api_key', async () => [generateApiKey(), await token()], none],
  ['malformed', 401, 'api_key', async () => ['ols_mistyped', await token()], none],
  ['missing', 401, 'api_key', async () => [undefined, await token()], none],
  ['missing, missing', 401, 'api_key, access_token', async () => [undefined, undefined], none],
  [
    'revoked, expired',
    401,
    'api_key, access_token',
    async () => [revoked.key, await token({ exp: 1 })],
    () => ({ keyId: revoked.id, client: 'Revoked Inc' }),
  ],
  ['missing', 401, 'access_token', async () => [world.key.key, undefined], ours],
  ['scheme', 401, 'access_token', async () => [world.key.key, 'Basic dXNlcjpwYXNz'], ours],
  ['malformed', 401, 'access_token', async () => [world.key.key, 'a.b'], ours],
  [
    'expired',
    401,
    'access_token',
    async () => [world.key.key, await token({ exp: seconds() - 60 })],
    ours,
  ],
  [
    'audience',
    401,
    'access_token',
    async () => [world.key.key, await token({ aud: 'other' })],
    ours,
  ],
  [
    'issuer',
    401,
    'access_token',
    async () => [world.key.key, await token({ iss: 'https://other' })],
    ours,
  ],
  [
    'algorithm',
    401,
    'access_token',
    async () => [
      world.key.key,
      await token({}, { alg: 'RS256' }).then((text) =>
        text.replace(/^[^.]+/, 'eyJhbGciOiJub25lIn0'),
      ),
    ],
    ours,
  ],
  [
    'signature',
    401,
    'access_token',
    async () => [world.key.key, (await token()).replace(/[^.]+$/, 'AAAA')],
    ours,
  ],
  [
    'unknown-key',
    401,
    'access_token',
    async () => [world.key.key, await token({}, { kid: 'withdrawn' })],
    ours,
  ],
  [
    'signing-keys-not-fetched',
    503,
    'access_token',
    async () => [world.key.key, await token({}, { kid: 'second' })],
    ours,
  ],
  [
    'scope',
    403,
    'access_token',
    async () => [world.key.key, await token({ scope: 'other' })],
    ours,
  ],
])(
  '%s: %i, and the line of its instance names the %s',
  async (reason, status, credential, send, whose) => {
    const [key, authorization] = await send();
    const headers = { 'Api-Key': key, Authorization: authorization };
    const reply = await world.get(PATHS.orderUpdate, { headers });
    const { instance } = JSON.parse(reply.text) as ProblemBody;
    const id = instance.replace('urn:uuid:', '');
    const line = await world.service.waitForLog(({ requestId }) => requestId === id);
    const { status: logged, credential: which, reason: why, keyId, client, address } = line;
    expect({ logged, which, why, keyId, client }).toEqual({
      logged: status,
      which: credential,
      why: reason,
      ...whose(),
    });
    expect(reply.status).toBe(status);
    expect(address === undefined || address === '127.0.0.1').toBe(true);
    for (const sent of [key, authorization])
      if (sent && sent.length > 20) {
        expect(`${world.service.output}${reply.text}`).not.toContain(sent.slice(-20));
        expect(`${world.service.output}${reply.text}`).not.toContain(sent.slice(0, 20));
      }
  },
);
