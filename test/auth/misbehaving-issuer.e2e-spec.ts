import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JWK } from 'jose';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { fastClock } from '../support/fast-clock.js';
import { type Fault, Issuer, signingKey } from '../support/issuer.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { RunningService, until } from '../support/service.js';

const FAULTS: Fault[] = ['down', 'slow', 'drip', 'status 500', 'html', 'huge', 'redirect'];

/** A service with some issuers, the first of which the tests have misbehave, and callers with keys of their own. */
class Scene {
  private constructor(
    private readonly database: TestDatabase,
    readonly issuers: readonly Issuer[],
    private readonly keys: readonly IssuedKey[],
    readonly service: RunningService,
  ) {}

  static async set(
    count: number,
    environment: Record<string, string> = {},
    fault: Fault = 'none',
  ): Promise<Scene> {
    const [database, ...issuers] = await Promise.all([
      createDatabase(),
      ...Array.from({ length: count }, () => Issuer.start()),
    ]);
    for (const issuer of issuers) issuer.fault = fault;
    const keys: IssuedKey[] = [];
    for (let caller = 0; caller < 5; caller++) keys.push(await issueKey(database));
    const service = await RunningService.start({
      DATABASE_URL: database.urlOf('order_lookup_service'),
      ...issuers[0]?.environment,
      OAUTH_ISSUER: issuers.map(({ url }) => url).join(),
      ...environment,
    });
    return new Scene(database, issuers, keys, service);
  }

  get issuer(): Issuer {
    return this.issuers[0] as Issuer;
  }

  async ask(token: string, caller = 0) {
    const headers = { 'Api-Key': this.keys[caller]?.key ?? '', Authorization: `Bearer ${token}` };
    const response = await fetch(this.service.url + PATHS.orderUpdate, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async statusOf(token: string, caller = 0): Promise<number> {
    return (await this.ask(token, caller)).status;
  }

  /** A token that was accepted, so that the service remembers it. */
  async remembered(key = this.issuer.signer): Promise<string> {
    const token = await this.issuer.token({ key });
    await until(async () => (await this.statusOf(token)) === 200);
    return token;
  }

  async close(): Promise<void> {
    await this.service.kill();
    await Promise.all([...this.issuers.map((issuer) => issuer.close()), this.database.drop()]);
  }
}

// A minute of the service takes a quarter of a second, so that the tests need not wait for minutes
describe.each([[1], [2]])('an issuer that misbehaves, one of %i', (count) => {
  let scene: Scene;
  let others: string[];
  let published: JWK[];
  beforeAll(async () => {
    scene = await Scene.set(count, fastClock(240));
    await scene.service.ready();
    published = scene.issuer.published;
    others = await Promise.all(scene.issuers.slice(1).map((issuer) => issuer.token()));
  });
  afterAll(() => scene?.close());

  /** Restores the first key set, and sees that callers of the other issuer noticed nothing. */
  async function recover(): Promise<void> {
    for (const token of others) expect(await scene.statusOf(token)).toBe(200);
    scene.issuer.fault = 'none';
    scene.issuer.published = published;
    await until(async () => (await scene.statusOf(await scene.issuer.token())) === 200);
  }

  it('publishes an empty key set: its tokens are refused, remembered or new', async () => {
    const known = await scene.remembered();
    scene.issuer.published = [];
    await until(async () => (await scene.statusOf(known)) === 401);
    expectProblem(await scene.ask(await scene.issuer.token()), 'invalid-credentials');
    await recover();
  });

  it('has two keys of one kid and different kty, and withdraws one: its tokens are refused', async () => {
    const [rsa, ec] = [await signingKey('RS256', 'twin'), await signingKey('ES256', 'twin')];
    scene.issuer.published = [...published, rsa.jwk, ec.jwk];
    const [ofRsa, ofEc] = [await scene.remembered(rsa), await scene.remembered(ec)];
    scene.issuer.published = [...published, ec.jwk];
    await until(async () => (await scene.statusOf(ofRsa)) === 401);
    expect(await scene.statusOf(await scene.issuer.token({ key: rsa }))).toBe(401);
    for (const token of [ofEc, await scene.issuer.token({ key: ec })])
      expect(await scene.statusOf(token)).toBe(200);
    await recover();
  });

  it('publishes a key twice: its tokens are accepted', async () => {
    const twice = await signingKey('ES256', 'twice');
    const { use: _, ...unmarked } = twice.jwk;
    scene.issuer.published = [...published, twice.jwk, twice.jwk, unmarked];
    await scene.remembered(twice);
    await recover();
  });

  it.each<Fault>(['slow', 'status 500', 'down'])(
    'rotates while its key set is %s: 503 with Retry-After until a fetch has succeeded, then 200',
    async (fault) => {
      scene.issuer.fault = fault;
      const key = await signingKey('ES256', `new-${fault.replace(' ', '-')}`);
      scene.issuer.published = [...published, key.jwk];
      const token = await scene.issuer.token({ key });
      for (let attempt = 0; attempt < 3; attempt++) {
        const reply = await scene.ask(token);
        expectProblem(reply, 'cannot-verify-credentials');
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      scene.issuer.fault = 'none';
      const statuses = new Set<number>();
      await until(async () => statuses.add(await scene.statusOf(token)).has(200));
      expect([...statuses].filter((status) => ![200, 503].includes(status))).toEqual([]);
      await recover();
    },
  );

  it('rotates while four other callers send unknown key ids: 503 until a fetch has succeeded, then 200', async () => {
    let at = 0;
    const forge = async (): Promise<unknown> =>
      Promise.all(
        [1, 2, 3, 4].map(async (caller) =>
          scene.ask(await scene.issuer.token({ header: { kid: `forged-${++at}` } }), caller),
        ),
      );
    await forge();
    const key = await signingKey('ES256', 'rotated');
    scene.issuer.published = [...published, key.jwk];
    const token = await scene.issuer.token({ key });
    const statuses = new Set<number>();
    await until(async () => {
      const [status] = await Promise.all([scene.statusOf(token), forge()]);
      return statuses.add(status).has(200);
    });
    expect([...statuses].filter((status) => ![200, 503].includes(status))).toEqual([]);
    await recover();
  });

  it('moves its key set while the old address still answers: the new one is found', async () => {
    scene.issuer.move();
    await scene.issuer.rotate('moved');
    await until(async () => (await scene.statusOf(await scene.issuer.token())) === 200);
  });
});

describe('an issuer in time', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await Scene.set(1);
    await scene.service.ready();
  });
  afterAll(() => scene?.close());

  it('rotates: a new key is accepted with the first token that names it, although others asked for unknown ones before', async () => {
    const known = await scene.remembered();
    const before = scene.issuer.jwksHits;
    const { kid } = await scene.issuer.rotate('new', { keepOld: false });
    expect(await scene.statusOf(await scene.issuer.token())).toBe(200);
    expectProblem(await scene.ask(known), 'invalid-credentials');
    // Within 30 s no other fetch is permitted, so unknown key ids cannot be told from new ones
    const replies = await Promise.all(
      Array.from({ length: 50 }, async (_, at) =>
        scene.ask(await scene.issuer.token({ header: { kid: `${kid}-${at}` } }), at % 5),
      ),
    );
    for (const reply of replies) expectProblem(reply, 'cannot-verify-credentials');
    expect(scene.issuer.jwksHits - before).toBe(1);
  });

  it.each(FAULTS)('fails, and known keys keep working, without waiting: %s', async (fault) => {
    scene.issuer.fault = fault;
    const unknown = scene.ask(await scene.issuer.token({ header: { kid: `for ${fault}` } }));
    for (let sent = 0; sent < 20; sent++)
      expect(await scene.statusOf(await scene.issuer.token())).toBe(200);
    expect([401, 503]).toContain((await unknown).status);
  });
});

describe('an issuer that is away at the start', () => {
  it('refuses nobody: 503 until its keys are there, and takes no weak, secret or private ones', async () => {
    const scene = await Scene.set(1, {}, 'down');
    const { issuer, service } = scene;
    const ready = async (): Promise<number> =>
      (await fetch(`${service.managementUrl}/health/ready`)).status;
    try {
      await service.waitForLog(({ msg, topic }) => msg === 'snapshot: loaded' && topic === 'keys');
      const reply = await scene.ask(await issuer.token());
      expectProblem(reply, 'cannot-verify-credentials');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await ready()).toBe(503);
      expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
      for (const metric of [
        `order_lookup_jwks_keys{issuer="${issuer.url}"}`,
        'order_lookup_seconds_until_refusal{what="signing-keys"}',
      ])
        expect(await service.metric(metric)).toBe(0);
      const { jwk } = issuer.signer;
      issuer.published = [
        { ...jwk, kid: 'secret', kty: 'oct', k: 'AAAA' },
        { ...jwk, kid: 'private', d: 'AAAA' },
        { ...jwk, kid: 'encryption', use: 'enc' },
        { kty: 'RSA', kid: 'weak', n: 'x'.repeat(170), e: 'AQAB' },
        ...issuer.published,
      ];
      issuer.fault = 'none';
      await until(async () => (await scene.statusOf(await issuer.token())) === 200);
      expect(await ready()).toBe(200);
      expect(await service.metric('order_lookup_jwks_keys')).toBe(3);
      expect(
        await service.metric('order_lookup_seconds_until_refusal{what="signing-keys"}'),
      ).toBeGreaterThan(86_000);
    } finally {
      await scene.close();
    }
  });
});
