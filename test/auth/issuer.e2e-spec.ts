import { afterEach, describe, expect, it } from '@jest/globals';
import { issueKey } from '../support/keys.js';
import { expectProblem } from '../support/problem.js';
import { until } from '../support/service.js';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

const PATH = PATHS.orderUpdate;
let world: World | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const withToken = (token: string): { headers: Record<string, string> } => ({
  headers: { Authorization: `Bearer ${token}` },
});

describe('settings', () => {
  it('OAUTH_REQUIRED_SCOPE answers 403 with the scope that lacks', async () => {
    world = await World.create({ OAUTH_REQUIRED_SCOPE: 'lookups.read' });
    for (const claims of [
      {},
      { scope: 'lookups' },
      { scope: 'lookups.read.all' },
      { scope: ['x'] },
      { scope: 7 },
    ]) {
      const reply = await world.get(PATH, withToken(await world.issuer.token({ claims })));
      expectProblem(reply, 'insufficient-scope');
      expect(reply.headers.get('www-authenticate')).toBe(
        'Bearer realm="order-lookup-services", error="insufficient_scope", scope="lookups.read"',
      );
    }
    for (const claims of [
      { scope: 'other lookups.read' },
      { scp: ['lookups.read'] },
      { scp: 'lookups.read' },
    ]) {
      expect((await world.get(PATH, withToken(await world.issuer.token({ claims })))).status).toBe(
        200,
      );
    }
  });

  it('OAUTH_TOKEN_TYPE=at+jwt demands that type', async () => {
    world = await World.create({ OAUTH_TOKEN_TYPE: 'at+jwt' });
    expect((await world.get(PATH)).status).toBe(200);
    for (const typ of ['JWT', undefined])
      expectProblem(
        await world.get(PATH, withToken(await world.issuer.token({ header: { typ } }))),
        'invalid-credentials',
      );
  });

  it('RATE_LIMIT_PER_MINUTE counts requests for each key, and 304 costs nothing', async () => {
    world = await World.create({ RATE_LIMIT_PER_MINUTE: '5' });
    const first = await world.get(PATH);
    expect({
      limit: first.headers.get('ratelimit-policy'),
      left: first.headers.get('ratelimit-remaining'),
    }).toEqual({
      limit: '"key";q=5;w=60',
      left: '4',
    });
    const etag = first.headers.get('etag') ?? '';
    for (let count = 0; count < 20; count++)
      expect((await world.get(PATH, { headers: { 'If-None-Match': etag } })).status).toBe(304);
    for (let count = 0; count < 4; count++) expect((await world.get(PATH)).status).toBe(200);
    const reply = await world.get(PATH);
    expectProblem(reply, 'too-many-requests');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(reply.headers.get('ratelimit')).toMatch(/^"key";r=0;t=\d+$/);
    const other = await issueKey(world.database);
    await until(
      async () => (await world?.get(PATH, { headers: { 'Api-Key': other.key } }))?.status === 200,
    );
  });
});
