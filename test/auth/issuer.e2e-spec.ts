import { afterEach, describe, expect, it } from '@jest/globals';
import { createDatabase } from '../support/database.js';
import { type Fault, Issuer } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { expectProblem } from '../support/problem.js';
import { RunningService, until } from '../support/service.js';
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

describe('while the issuer fails', () => {
  it.each<Fault>(['down', 'slow', 'drip', 'status 500', 'html', 'empty set', 'huge', 'redirect'])(
    'known keys keep working, without waiting: %s',
    async (fault) => {
      world = await World.create();
      world.issuer.fault = fault;
      const unknown = await world.issuer.token({ header: { kid: 'unknown' } });
      const [refused] = await Promise.all([
        world.get(PATH, withToken(unknown)), // makes the service ask the issuer
        (async () => {
          for (let count = 0; count < 50; count++)
            expect(
              (await world?.get(PATH, withToken((await world?.issuer.token()) ?? '')))?.status,
            ).toBe(200);
        })(),
      ]);
      expectProblem(refused, 'invalid-credentials');
      for (const key of world.issuer.keys)
        expect((await world.get(PATH, withToken(await world.issuer.token({ key })))).status).toBe(
          200,
        );
    },
  );

  it('at the start, nobody is refused: 503 until its keys are there', async () => {
    const [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
    issuer.fault = 'down';
    const { key } = await issueKey(database);
    const service = await RunningService.start({
      DATABASE_URL: database.urlOf('order_lookup_service'),
      ...issuer.environment,
    });
    try {
      await service.waitForLog(({ msg, topic }) => msg === 'snapshot: loaded' && topic === 'keys');
      const ask = async () => {
        const response = await fetch(service.url + PATH, {
          headers: { 'Api-Key': key, Authorization: `Bearer ${await issuer.token()}` },
        });
        return { status: response.status, headers: response.headers, text: await response.text() };
      };
      const reply = await ask();
      expectProblem(reply, 'cannot-verify-credentials');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(503);
      expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
      expect(await (await fetch(`${service.managementUrl}/metrics`)).text()).toMatch(
        /^order_lookup_jwks_keys\{issuer=".*"\} 0$/m,
      );
      issuer.fault = 'none';
      await until(async () => (await ask()).status === 200);
      expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    } finally {
      await service.kill();
      await Promise.all([issuer.close(), database.drop()]);
    }
  });
});

describe('when the issuer changes its keys', () => {
  it('a new key is accepted with the first token that names it, and a withdrawn one is refused, also for cached tokens', async () => {
    world = await World.create();
    const old = await world.issuer.token();
    expect((await world.get(PATH, withToken(old))).status).toBe(200);
    await world.issuer.rotate('new', { keepOld: false });
    expect((await world.get(PATH, withToken(await world.issuer.token()))).status).toBe(200);
    expectProblem(await world.get(PATH, withToken(old)), 'invalid-credentials');
  });

  it('forged key ids cause one fetch, however many they are', async () => {
    const here = (world = await World.create());
    const before = world.issuer.jwksHits;
    const replies = await Promise.all(
      Array.from({ length: 200 }, async (_, at) =>
        here.get(PATH, withToken(await here.issuer.token({ header: { kid: `forged-${at}` } }))),
      ),
    );
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([401]));
    expect(world.issuer.jwksHits - before).toBe(1);
  });

  it('weak, secret and private keys are not taken', async () => {
    world = await World.create();
    const { jwk } = world.issuer.signer;
    world.issuer.published = [
      { ...jwk, kid: 'secret', kty: 'oct', k: 'AAAA' },
      { ...jwk, kid: 'private', d: 'AAAA' },
      { ...jwk, kid: 'encryption', use: 'enc' },
      { kty: 'RSA', kid: 'weak', n: 'x'.repeat(170), e: 'AQAB' },
      ...world.issuer.published,
    ];
    await world.get(PATH, withToken(await world.issuer.token({ header: { kid: 'private' } })));
    expect(await world.service.metric('order_lookup_jwks_keys')).toBe(3);
  });
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
