import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { issueKey } from '../support/keys.js';
import { expectProblem } from '../support/problem.js';
import { exchange } from '../support/raw.js';
import { until } from '../support/service.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

let world: World;
const special = {
  revoked: '',
  expired: '',
  foreign: 'a key of another system',
  ownSpelling: 'ols_a key that somebody made by hand',
};
const DAY = 86_400_000;

beforeAll(async () => {
  world = await World.create({}, async (database) => {
    special.revoked = (
      await issueKey(database, { revokedAt: new Date(Date.now() - 1000).toISOString() })
    ).key;
    special.expired = (
      await issueKey(database, { expiresAt: new Date(Date.now() - DAY / 2).toISOString() })
    ).key;
    await issueKey(database, { key: special.ownSpelling });
    await issueKey(database, {
      key: special.foreign,
      expiresAt: new Date(Date.now() + DAY).toISOString(),
    });
  });
});
afterAll(() => world?.close());

async function expectRefused(headers: Record<string, string | undefined>): Promise<void> {
  for (const path of ALL_PATHS) {
    const reply = await world.get(path, { headers });
    const body = expectProblem(reply, 'invalid-credentials');
    expect({
      detail: body.detail,
      issues: body.issues,
      challenge: reply.headers.get('www-authenticate'),
    }).toEqual({
      detail: 'The credentials of the request are not valid.',
      issues: [{ description: 'Api-Key is not valid.', field: 'Api-Key', location: 'header' }],
      challenge:
        'ApiKey realm="order-lookup-services", header="Api-Key", Bearer realm="order-lookup-services"',
    });
  }
}

describe('an API key', () => {
  it.each<[string, () => string]>([
    ['unknown', () => generateApiKey()],
    ['revoked', () => special.revoked],
    ['expired', () => special.expired],
    [
      'with one character changed',
      () => world.key.key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
    ],
    [
      'with one character of the secret changed',
      () => world.key.key.replace(/^(.{10})./, (_all, start: string) => `${start}_`),
    ],
    ['cut short', () => world.key.key.slice(0, -1)],
    ['longer', () => `${world.key.key}a`],
    ['in other case', () => world.key.key.toUpperCase()],
    ['twice in one line', () => `${world.key.key}, ${world.key.key}`],
    ['with quotes', () => `"${world.key.key}"`],
    ['its prefix alone', () => 'ols_'],
    ['of 5,000 characters', () => 'x'.repeat(5_000)],
    ['that is SQL', () => `' or 1=1 --`],
    ['that is not ASCII', () => 'schlüssel'],
  ])('is refused alike: %s', async (_name, key) => {
    await expectRefused({ 'Api-Key': key() });
  });

  it.each([['Api_Key'], ['X-Api-Key'], ['ApiKey'], ['Cookie']])(
    'is not looked for in %s',
    async (name) => {
      const reply = await world.get(PATHS.orderUpdate, {
        headers: { 'Api-Key': undefined, [name]: world.key.key },
      });
      expect(expectProblem(reply, 'missing-credentials').issues).toEqual([
        {
          description: 'Api-Key is missing: send your subscription key.',
          field: 'Api-Key',
          location: 'header',
        },
      ]);
    },
  );

  it('in the query is ignored, and appears in no log', async () => {
    const reply = await world.get(`${PATHS.orderUpdate}?Api-Key=${world.key.key}`, {
      headers: { 'Api-Key': undefined },
    });
    expectProblem(reply, 'missing-credentials');
    const { text } = await world.get(
      `${PATHS.communicationCodes}?api_key=${world.key.key}&code=${world.key.key}&code=${world.token}`,
    );
    expect(`${text}${world.service.output}`).not.toContain(world.key.key);
    expect(`${text}${world.service.output}`).not.toContain(world.token);
  });

  it.each(['API-KEY', 'api-key', 'aPi-KeY'])('is found under %s', async (name) => {
    expect(
      (
        await world.get(PATHS.orderUpdate, {
          headers: { 'Api-Key': undefined, [name]: world.key.key },
        })
      ).status,
    ).toBe(200);
  });

  it('taken over from another system works by its hash', async () => {
    expect(
      (await world.get(PATHS.orderUpdate, { headers: { 'Api-Key': special.foreign } })).status,
    ).toBe(200);
  });

  it('in the table is accepted, whatever its form', async () => {
    expect(
      (await world.get(PATHS.orderUpdate, { headers: { 'Api-Key': special.ownSpelling } })).status,
    ).toBe(200);
  });

  it('issued and revoked by plain SQL counts, also beside an open migration', async () => {
    const { id, key } = await issueKey(world.database);
    const statusOf = async (): Promise<number> =>
      (await world.get(PATHS.orderUpdate, { headers: { 'Api-Key': key } })).status;
    await until(async () => (await statusOf()) === 200);
    await world.database.query(`update api_key set revoked_at = now() where id = $1`, [id]);
    await until(async () => (await statusOf()) === 401);
  });
});

describe('both credentials', () => {
  it.each<[string, Record<string, string | undefined>, string[]]>([
    ['the key alone', { Authorization: undefined }, ['Authorization']],
    ['the token alone', { 'Api-Key': undefined }, ['Api-Key']],
    ['neither', { 'Api-Key': undefined, Authorization: undefined }, ['Api-Key', 'Authorization']],
    ['an empty key', { 'Api-Key': '' }, ['Api-Key']],
    ['a blank key', { 'Api-Key': '   ' }, ['Api-Key']],
    ['an empty token', { Authorization: '' }, ['Authorization']],
    ['Bearer alone', { Authorization: 'Bearer' }, ['Authorization']],
    ['Bearer and a space', { Authorization: 'bearer ' }, ['Authorization']],
  ])('are needed: %s is not enough', async (_name, headers, fields) => {
    for (const path of ALL_PATHS) {
      const reply = await world.get(path, { headers });
      expect(
        expectProblem(reply, 'missing-credentials').issues?.map(({ field, location }) => ({
          field,
          location,
        })),
      ).toEqual(fields.map((field) => ({ field, location: 'header' })));
      expect(reply.headers.get('www-authenticate')).toBe(
        'ApiKey realm="order-lookup-services", header="Api-Key", Bearer realm="order-lookup-services"',
      );
    }
  });

  it('are both named when both are wrong', async () => {
    const reply = await world.get(PATHS.orderUpdate, {
      headers: { 'Api-Key': 'wrong', Authorization: 'Bearer a.b.c' },
    });
    expect(expectProblem(reply, 'invalid-credentials').issues?.map(({ field }) => field)).toEqual([
      'Api-Key',
      'Authorization',
    ]);
    expect(reply.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  it.each([
    [
      'Api-Key',
      () =>
        `Api-Key: ${world.key.key}\r\nApi-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\n`,
    ],
    [
      'Api-Key',
      () =>
        `Api-Key: ${world.key.key}\r\napi-key: other\r\nAuthorization: Bearer ${world.token}\r\n`,
    ],
    [
      'Authorization',
      () =>
        `Api-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\nAuthorization: Bearer ${world.token}\r\n`,
    ],
    [
      'Authorization',
      () =>
        `Api-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\nauthorization: Basic x\r\n`,
    ],
  ])('are refused where %s is sent twice', async (field, headers) => {
    for (const path of ALL_PATHS) {
      const { responses } = await exchange(
        world.service.port,
        `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers()}\r\n`,
        { answers: 1 },
      );
      const { issues } = expectProblem(
        responses[0] as NonNullable<(typeof responses)[0]>,
        'malformed-request',
      );
      expect(issues).toEqual([
        {
          description: `${field} was sent more than once: send it once.`,
          field,
          location: 'header',
        },
      ]);
    }
  });
});
