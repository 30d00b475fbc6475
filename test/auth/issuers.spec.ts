// What an issuer does to the callers of it and of another one, with the service's clock turned by the test: real HTTP, but nobody waits.
import { KeyObject, sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { type JWK, exportJWK } from 'jose';
import { AccessTokensService } from '../../src/auth/access-tokens/access-tokens.service.js';
import { discover } from '../../src/auth/issuers/discovery.js';
import { IssuersService } from '../../src/auth/issuers/issuers.service.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { AUDIENCE, type Fault, Issuer, type SigningKey, signingKey } from '../support/issuer.js';
import { silentLogger } from '../support/silent-logger.js';

const DAY = 24 * 3_600;
/** For which a request waits for a fetch at most. */
const WAIT_MS = 800;
const METADATA = '/.well-known/openid-configuration';
const [issuer, other] = await Promise.all([Issuer.start(), Issuer.start()]);
const [keys, published] = [[...issuer.keys], issuer.published];
let issuers: IssuersService;
let tokens: AccessTokensService;

beforeAll(() => {
  issuer['server'].on('request', () => jest.advanceTimersByTime(1)); // an answer takes a millisecond
  // A fetch ends where the issuer gives no answer, not where the machine is slow
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const isSilent = (): boolean => issuer.fault === 'slow' || issuer.fault === 'drip';
  jest
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation((ms) => (isSilent() ? timeout(ms) : new AbortController().signal));
});
afterAll(() => Promise.all([issuer.close(), other.close()]));

beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
  issuer.keys.splice(0, issuer.keys.length, ...keys);
  [issuer.published, issuer.fault, issuer['left']] = [published, 'none', undefined];
  issuer.metadata = {};
  issuer.hits.clear();
  const configuration = Object.assign(new Configuration(), {
    OAUTH_ISSUER: [issuer.url, other.url],
    OAUTH_AUDIENCE: [AUDIENCE],
  });
  const metrics = new Metrics();
  issuers = new IssuersService(configuration, silentLogger, metrics);
  tokens = new AccessTokensService(configuration, issuers, metrics);
  issuers.onApplicationBootstrap();
  await settled();
});
afterEach(async () => {
  expect(await statusOf(await other.token())).toBe(200); // its callers never notice anything
  await settled();
  jest.useRealTimers();
});

const settled = async () => {
  for (const each of issuers.all) await each['refreshing'];
};

/** Lets seconds pass; gives those in which the keys were asked for. */
async function pass(
  seconds: number,
  eachSecond = async (_second: number): Promise<unknown> => undefined,
): Promise<number[]> {
  const asked: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    const before = issuer.jwksHits;
    jest.advanceTimersByTime(1_000);
    await eachSecond(second);
    await settled();
    if (issuer.jwksHits > before) asked.push(second);
  }
  return asked;
}

async function statusOf(token: string): Promise<number> {
  const begunAt = Date.now();
  let verdict = await tokens.verify(`Bearer ${token}`);
  const isUndecided = !verdict.isAccepted && verdict.fault.undecided !== undefined;
  if (isUndecided && Date.now() >= begunAt + WAIT_MS) {
    await settled(); // the machine is slow, or the issuer
    verdict = await tokens.verify(`Bearer ${token}`);
  }
  if (verdict.isAccepted) return 200;
  return verdict.fault.undecided === undefined ? 401 : 503;
}
const statusOfNew = async (key?: SigningKey): Promise<number> =>
  statusOf(await issuer.token(key ? { key } : {}));
const statusOfKid = async (kid: string): Promise<number> =>
  statusOf(await issuer.token({ header: { kid } }));
const left = (): number => issuers.all[0]?.secondsLeft ?? NaN;

it('publishes an empty key set: its tokens are refused within a minute, remembered or new', async () => {
  const known = await issuer.token();
  expect(await statusOf(known)).toBe(200);
  issuer.published = [];
  await pass(60);
  for (const token of [known, await issuer.token()]) expect(await statusOf(token)).toBe(401);
});

it('has two keys of one kid and different kty, and withdraws one: its tokens are refused, and no others', async () => {
  const [rsa, ec] = [await signingKey('RS256', 'twin'), await signingKey('ES256', 'twin')];
  issuer.published = [...published, rsa.jwk, ec.jwk];
  await pass(60);
  const known = [await issuer.token({ key: rsa }), await issuer.token({ key: ec })];
  for (const token of known) expect(await statusOf(token)).toBe(200);
  issuer.published = [...published, ec.jwk];
  await pass(60);
  const all = [...known, await issuer.token({ key: rsa }), await issuer.token({ key: ec })];
  // 503 where no fetch has begun since a token was first seen, and 401 after one
  const first = await Promise.all(all.map(statusOf));
  expect(first.map((status) => status === 200)).toEqual([false, true, false, true]);
  await pass(60);
  expect(await Promise.all(all.map(statusOf))).toEqual([401, 200, 401, 200]);
});

it('publishes a key twice, and keys that nobody may use: the good ones are accepted', async () => {
  const twice = await signingKey('ES256', 'twice');
  const { use: _, ...unmarked } = twice.jwk;
  const { jwk } = issuer.signer;
  const secret = await signingKey('RS256', 'secret');
  issuer.published = [
    { ...jwk, kid: 'oct', kty: 'oct', k: 'AAAA' },
    { ...jwk, kid: 'encryption', use: 'enc' },
    { kty: 'RSA', kid: 'weak', n: 'x'.repeat(170), e: 'AQAB' },
    { ...(await exportJWK(secret.privateKey)), kid: 'secret' },
    ...[twice.jwk, twice.jwk, unmarked],
    ...published,
  ];
  await pass(60);
  for (const key of [twice, issuer.signer]) expect(await statusOfNew(key)).toBe(200);
  const kids = ['oct', 'encryption', 'weak'].map((kid) => issuer.token({ header: { kid } }));
  const others = await Promise.all([...kids, issuer.token({ key: secret })]);
  await Promise.all(others.map(statusOf));
  await pass(60);
  for (const token of others) expect(await statusOf(token)).toBe(401);
});

it('rotates: the first token that names the new key gets 200, also beside unknown key ids, and the old key 401', async () => {
  for (let rotation = 1; rotation <= 3; rotation++) {
    const [former] = issuer.keys;
    await issuer.rotate(`did:web:issuer.example#k${rotation}`, { keepOld: false });
    const old = Array.from({ length: 50 }, () => statusOfNew(former));
    expect(await statusOfNew()).toBe(200);
    await Promise.all(old);
    expect(await statusOfNew(former)).toBe(401);
    await pass(31);
  }
});

it.each([
  ['unknown key ids', (at: number) => ({ kid: `forged-${at}` }), {}],
  ['no key id', () => ({ kid: undefined }), { kid: undefined }],
])(
  'is asked once in 30 s for forged tokens with %s: a rotation meanwhile gets 503, never 401, until the next fetch',
  async (_name, headerOf, header) => {
    const stranger = await signingKey('RS256', 'stranger');
    let at = 0;
    const forge = () => issuer.token({ key: stranger, header: headerOf(++at) });
    const [first, second] = [await forge(), await forge()];
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 503]);
    const token = await issuer.token({ key: await issuer.rotate('new'), header });
    const statuses: number[] = [];
    const asked = await pass(180, async () => {
      statuses.push(await statusOf(token));
      await Promise.all([1, 2, 3, 4].map(async () => statusOf(await forge())));
    });
    expect(statuses.indexOf(200)).toBeLessThan(60);
    expect([...new Set(statuses)]).toEqual([503, 200]);
    for (const begin of asked)
      expect(asked.filter((each) => each >= begin && each < begin + 60).length).toBeLessThan(4);
    expect([await statusOf(second), await statusOf(token)]).toEqual([401, 200]);
  },
);

it('settles a key id by a fetch that began after it was first seen', async () => {
  expect(await statusOfKid('first')).toBe(401);
  expect(await statusOfKid('second')).toBe(503);
  expect(await statusOfKid('__proto__')).toBe(503);
  await pass(60);
  expect(await statusOfKid('second')).toBe(401);
  issuer.published = published.slice(1);
  await pass(60);
  issuer.fault = 'down';
  expect(await statusOfNew(keys[0])).toBe(401); // withdrawn: no other fetch has to say so
});

it('is asked once a minute, and for its metadata before ten minutes are over: a key set that moved is found', async () => {
  expect(await pass(300)).toEqual([60, 120, 180, 240, 300]);
  issuer.move();
  await issuer.rotate('moved');
  await pass(300);
  expect(issuer.hits.get(METADATA)).toBe(2);
  expect(await statusOfNew()).toBe(200);
});

it('is down for 30 minutes: known keys stay, pauses between fetches grow, and it is asked within a minute after', async () => {
  issuer.fault = 'down';
  const known = await issuer.token();
  const asked = await pass(1_800, async () => expect(await statusOf(known)).toBe(200));
  expect(asked.slice(0, 8)).toEqual([60, 61, 63, 67, 75, 91, 123, 183]);
  expect(asked).toHaveLength(8 + 26);
  issuer.fault = 'none';
  await issuer.rotate('new');
  await pass(60);
  expect(await statusOfNew()).toBe(200);
});

it.each<Fault>(['drip', 'html', 'redirect', 'endless', 'bomb'])(
  'answers with %s: known keys stay',
  async (fault) => {
    issuer.fault = fault;
    const key = await signingKey('ES256', 'of-this-answer');
    issuer.published = [...published, key.jwk];
    expect(await statusOfNew(key)).toBe(503);
    const unknown = statusOfKid('unknown');
    expect(await statusOfNew()).toBe(200);
    expect(await unknown).toBe(503);
    expect(await statusOfNew()).toBe(200);
  },
);

it.each<Fault>(['slow', 'status 500', 'down'])(
  'rotates with key ids and without, and replaces a key under its id, while its key set is %s: 503 until a fetch has succeeded, then 200',
  async (fault) => {
    const withoutKid = (all: SigningKey[]): JWK[] =>
      all.map(({ jwk }) => {
        const { kid: _, ...unnamed } = jwk;
        return unnamed;
      });
    const [former, next] = [await signingKey('ES256', 'one'), await signingKey('ES256', 'one')];
    const unnamedHeader = { header: { kid: undefined } };
    issuer.published = [...withoutKid([former, ...keys]), former.jwk];
    await pass(60);
    const known = await issuer.token({ key: former });
    for (const parts of [{}, unnamedHeader])
      expect(await statusOf(await issuer.token({ key: former, ...parts }))).toBe(200);
    issuer.fault = fault;
    const named = await signingKey('ES256', 'two');
    issuer.published = [...withoutKid([next, ...keys]), next.jwk, named.jwk];
    const renewed = [
      await issuer.token({ key: named }),
      await issuer.token({ key: next }),
      await issuer.token({ key: next, ...unnamedHeader }),
    ];
    const statuses = () => Promise.all([known, ...renewed].map(statusOf));
    await pass(
      20,
      async (second) => second % 10 || expect(await statuses()).toEqual([200, 503, 503, 503]),
    );
    issuer.fault = 'none';
    await pass(60);
    expect(await statuses()).toEqual([expect.any(Number), 200, 200, 200]);
    await pass(60);
    expect(await statuses()).toEqual([401, 200, 200, 200]);
  },
);

it('signs tokens with members of any JSON type: each is accepted or refused, and none is a fault of the service', async () => {
  const members = 'alg kid typ crit iss aud client_id azp exp nbf iat scope roles token_use nonce';
  const member = fc.constantFrom(...members.split(' '), '__proto__', 'toString', 'constructor');
  const values = fc.oneof(fc.jsonValue(), fc.constant({ toString: 1 }), fc.constant(null));
  const parts = fc.dictionary(member, values, { maxKeys: 3 });
  const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const key = KeyObject.from((keys[1] as SigningKey).privateKey);
  const statuses: Record<number, number> = {};
  await fc.assert(
    fc.asyncProperty(parts, parts, fc.boolean(), async (header, claims, isGood) => {
      const signed = `${encoded({ alg: 'ES256', kid: 'ec-1', ...header })}.${encoded({ ...issuer.claims, ...claims })}`;
      const options = { key, dsaEncoding: 'ieee-p1363' } as const;
      const signature = isGood ? sign('sha256', Buffer.from(signed), options) : Buffer.alloc(64);
      const token = `${signed}.${signature.toString('base64url')}`;
      tokens.inspect(token); // as of a caller without a key
      const status = await statusOf(token);
      statuses[status] = (statuses[status] ?? 0) + 1;
      expect(status === 200 && !isGood).toBe(false);
    }),
    { numRuns: 400, seed: 43 },
  );
  for (const status of [200, 401, 503]) expect(statuses[status]).toBeGreaterThan(0);
});

it('has metadata that names another issuer: its keys are not taken', async () => {
  issuer.metadata = { issuer: other.url };
  const found = discover(issuer.url, new Configuration());
  await expect(found).rejects.toThrow(`names the issuer "${other.url}"`);
});

it('issues more tokens than are remembered: 8 MiB of their text', async () => {
  const key = keys[1] as SigningKey;
  const claims = { padding: 'x'.repeat(8_500) };
  const sent = await Promise.all(Array.from({ length: 800 }, () => issuer.token({ key, claims })));
  for (const token of sent) expect(await statusOf(token)).toBe(200);
  const remembered = sent.filter((token) => !(tokens.verify(token) instanceof Promise));
  const bytes = remembered.join('').length;
  expect(bytes).toBeLessThanOrEqual(8 * 1024 ** 2);
  expect(bytes).toBeGreaterThan(4 * 1024 ** 2 - 12_288);
  expect(remembered.at(-1)).toBe(sent.at(-1));
});

it('issues a token that expires: it is remembered until then, with 30 s for clocks that differ', async () => {
  const exp = Math.floor(Date.now() / 1000) + 60;
  const token = await issuer.token({ claims: { exp } });
  expect(await statusOf(token)).toBe(200);
  const now = jest.spyOn(Date, 'now').mockReturnValue((exp + 30) * 1_000 - 1);
  expect(tokens.verify(token)).toEqual({ isAccepted: true });
  now.mockReturnValue((exp + 30) * 1_000);
  expect(tokens.verify(token)).toEqual({ isAccepted: false, fault: { reason: 'expired' } });
  now.mockRestore();
});

it('is away for longer than a day: 503', async () => {
  issuer.fault = 'status 500';
  jest.advanceTimersByTime((DAY - 1) * 1_000);
  expect(left()).toBeCloseTo(1);
  expect(await statusOfNew()).toBe(200);
  jest.advanceTimersByTime(2_000);
  expect(left()).toBe(0);
  expect(await statusOfNew()).toBe(503);
});
