// What issuers publish and when they are asked, with a clock that the test turns: real HTTP, but nobody waits.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type JWK, exportJWK } from 'jose';
import { discover } from '../../src/auth/issuers/discovery.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { openApiDocument } from '../../src/documentation/openapi-document.js';
import { type Fault, Issuer, type SigningKey, signingKey, signingKeys } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

const MINUTE_SECONDS = 60;
const METADATA = '/.well-known/openid-configuration';

let issuer: Issuer;
/** Those that it has when a test begins. */
let firstKeys: SigningKey[];
let other: Issuer;
let otherToken: string;
let stranger: SigningKey;
let verifier: Verifier;

beforeAll(async () => {
  other = await Issuer.start();
  otherToken = await other.token();
  stranger = await signingKey('RS256', 'stranger');
  firstKeys = await signingKeys();
});
afterAll(() => other.close());
beforeEach(async () => {
  issuer = await Issuer.start(firstKeys);
  Verifier.turnClock();
  verifier = await new Verifier([issuer, other]).start();
});
afterEach(async () => {
  expect(await verifier.statusOf(otherToken)).toBe(200); // its callers never notice anything
  verifier.issuers.onApplicationShutdown();
  await verifier.settled();
  jest.restoreAllMocks();
  jest.useRealTimers();
  await issuer.close();
});

const statusOf = (token: string): Promise<number> => verifier.statusOf(token);
const statusOfNew = async (key?: SigningKey): Promise<number> => statusOf(await issuer.token({ key }));
const statusOfHeader = async (header: object): Promise<number> =>
  statusOf(await issuer.token({ header: { ...header } }));
const withoutKeyId = ({ jwk }: SigningKey): JWK => ({ ...jwk, kid: undefined });

/** Lets a second pass, and more while the token waits for a fetch. */
async function statusInTime(token: string): Promise<number> {
  const statuses: number[] = [];
  const asking = (async () => statuses.push(await statusOf(token)))();
  while (statuses.length === 0) await verifier.pass(1);
  await asking;
  return statuses[0] ?? NaN;
}

/** A token that is signed as its header says, also where jose would not sign so. */
function tokenSignedBy(
  header: { readonly alg: string; readonly kid: string },
  signatureOf: (content: Buffer) => Buffer,
): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const content = `${encode(header)}.${encode(issuer.claims)}`;
  return `${content}.${signatureOf(Buffer.from(content)).toString('base64url')}`;
}

/** A key of so many bits, with a token that it has signed. */
function rsaKey(kid: string, modulusLength: number): { jwk: JWK; token: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  const token = tokenSignedBy({ alg: 'RS256', kid }, (content) => sign('sha256', content, privateKey));
  return { jwk: { ...publicKey.export({ format: 'jwk' }), kid }, token };
}

describe('a key set', () => {
  it('that is empty counts: tokens are refused within a minute, remembered or new', async () => {
    const known = await issuer.token();
    expect(await statusOf(known)).toBe(200);
    issuer.published = [];
    await verifier.pass(MINUTE_SECONDS);
    for (const token of [known, await issuer.token(), known]) {
      expect(await statusOf(token)).toBe(401);
    }
  });

  it('may bring a withdrawn key back: its tokens are accepted with the next fetch', async () => {
    const { published } = issuer;
    issuer.published = [];
    await verifier.pass(MINUTE_SECONDS);
    issuer.published = published;
    await verifier.pass(5);
    expect(await statusOfNew()).toBe(200);
  });

  it('may have two keys of one id: when one is withdrawn, its tokens are refused, and no others', async () => {
    const rsa = await signingKey('RS256', 'twin');
    const ec = await signingKey('ES256', 'twin');
    issuer.published.push(rsa.jwk, ec.jwk);
    await verifier.pass(MINUTE_SECONDS);
    const ofRsa = await issuer.token({ key: rsa });
    const ofEc = await issuer.token({ key: ec });
    expect([await statusOf(ofRsa), await statusOf(ofEc)]).toEqual([200, 200]);
    issuer.published = [ec.jwk];
    await verifier.pass(MINUTE_SECONDS);
    expect([await statusOf(ofRsa), await statusOf(ofEc)]).toEqual([401, 200]);
    expect([await statusOfNew(rsa), await statusOfNew(ec)]).toEqual([401, 200]);
  });

  it('may have a key twice, and keys that nobody may use: the good ones are accepted', async () => {
    const twice = await signingKey('ES256', 'twice');
    const { use: _, ...unmarked } = twice.jwk;
    const { jwk } = issuer.signer;
    const secret = await signingKey('RS256', 'secret');
    const weak = rsaKey('weak', 1_024);
    const strong = rsaKey('strong', 2_048);
    issuer.published = [
      { kid: 'oct', kty: 'oct', k: 'AAAA' },
      { ...jwk, kid: 'encryption', use: 'enc' },
      weak.jwk,
      strong.jwk,
      { ...(await exportJWK(secret.privateKey)), kid: 'secret' },
      ...[twice.jwk, twice.jwk, unmarked],
      ...issuer.published,
    ];
    await verifier.pass(MINUTE_SECONDS);
    for (const key of [twice, issuer.signer]) expect(await statusOfNew(key)).toBe(200);
    expect(await statusOf(strong.token)).toBe(200);
    expect(await statusOf(weak.token)).toBe(401);
    expect(await statusOfNew(secret)).toBe(401);
    expect(await statusOfHeader({ kid: 'encryption' })).toBe(401);
    const shared = Buffer.from('AAAA', 'base64url');
    const hmac = (content: Buffer): Buffer => createHmac('sha256', shared).update(content).digest();
    expect(await statusOf(tokenSignedBy({ alg: 'HS256', kid: 'oct' }, hmac))).toBe(401);
  });

  it('may have a key replaced under its id: the new one counts within a minute, the old one no more', async () => {
    const former = await signingKey('ES256', 'one');
    const next = await signingKey('ES256', 'one');
    issuer.published = [former.jwk];
    await verifier.pass(MINUTE_SECONDS);
    const known = await issuer.token({ key: former });
    expect(await statusOf(known)).toBe(200);
    issuer.published = [next.jwk];
    await verifier.pass(MINUTE_SECONDS);
    expect([await statusOf(known), await statusOfNew(next)]).toEqual([401, 200]);
  });

  it('is fetched 55 s after the last fetch', async () => {
    expect(await verifier.pass(300)).toEqual([55, 110, 165, 220, 275]);
  });

  it('is fetched by the timer when its interval has passed since a fetch that a token caused', async () => {
    await verifier.pass(52);
    expect(await statusOfHeader({ kid: 'x' })).toBe(401);
    expect(await verifier.pass(60)).toEqual([55]);
  });

  it('that moved is found within ten minutes, although its old address still answers', async () => {
    issuer.move();
    await issuer.rotate('moved');
    await verifier.pass(10 * MINUTE_SECONDS);
    expect(await statusOfNew()).toBe(200);
    expect(issuer.hits.get(METADATA)).toBe(2);
  });

  it('that moved is found within a minute where its old address does not answer', async () => {
    issuer.move({ isOldLeft: false });
    await issuer.rotate('moved');
    await verifier.pass(MINUTE_SECONDS);
    expect(await statusOfNew()).toBe(200);
  });

  it('is fetched from its former address while the metadata name another issuer', async () => {
    issuer.metadata = { issuer: other.url, jwks_uri: `${other.url}/jwks` };
    await verifier.pass(10 * MINUTE_SECONDS);
    expect(await verifier.pass(MINUTE_SECONDS)).not.toEqual([]);
    await issuer.rotate('new');
    await verifier.pass(MINUTE_SECONDS);
    expect(await statusOfNew()).toBe(200);
    expect(verifier.issuer.signingKeys.state.name).toBe('current');
    expect(verifier.warnings.map(({ message }) => message)).toContain(
      `metadata of issuer ${issuer.url}: failed, retrying`,
    );
  });
});

describe('a token that no key verifies', () => {
  it('is refused at once, without a fetch, where its key id is known', async () => {
    const forged = [
      { key: stranger, header: { kid: issuer.signer.kid } },
      { header: { kid: 'ec-1' } },
      { key: issuer.keyOf('ES256'), header: { kid: 'rsa-1' } },
    ];
    for (const parts of forged) expect(await statusOf(await issuer.token(parts))).toBe(401);
    expect(issuer.jwksHits).toBe(1);
  });

  it.each(['../../etc/passwd', `' or 1=1 --`, 'x'.repeat(257), 'a b', 'é', '<b>', '__proto__;', '"'])(
    'is refused at once, without a fetch, where no issuer has such a key id: %j',
    async (kid) => {
      expect(await statusOfHeader({ kid })).toBe(401);
      expect(issuer.jwksHits).toBe(1);
    },
  );

  it.each(['jwk', 'x5c', 'x5u', 'jku'])(
    'is refused at once, without a fetch, where it brings a key by the header %s',
    async (name) => {
      await verifier.pass(5);
      expect(await statusOfHeader({ kid: 'x', [name]: `${other.url}/jwks` })).toBe(401);
      expect(issuer.jwksHits).toBe(1);
    },
  );

  it('causes a fetch where its header jku is the address of the key set, as SAP sends it', async () => {
    await verifier.pass(5);
    await issuer.rotate('new');
    expect(await statusOfHeader({ jku: `${issuer.url}/jwks` })).toBe(200);
  });

  it.each(['did:web:issuer.example#k1', 'https://a.example/k/1?v=2', 'wU3ifI/FG+6e==', 'arn:aws:1'])(
    'causes a fetch where its key id may be new, and is refused after it: %s',
    async (kid) => {
      await verifier.pass(5);
      expect(await statusOfHeader({ kid })).toBe(401);
      expect(issuer.jwksHits).toBe(2);
    },
  );

  it('gets 503 until a fetch is allowed, 5 s after the last one', async () => {
    const statuses: number[] = [];
    const asked = await verifier.pass(12, async () => statuses.push(await statusOfHeader({ kid: 'x' })));
    expect(statuses).toEqual([503, 503, 503, 503, 401, 503, 503, 503, 503, 401, 503, 503]);
    expect(asked).toEqual([5, 10]);
  });

  it('gets 503 where the fetch fails, which is not repeated for 5 s', async () => {
    issuer.fault = 'status 500';
    const statuses = new Set<number>();
    const asked = await verifier.pass(12, async () => statuses.add(await statusOfHeader({ kid: 'x' })));
    expect([...statuses]).toEqual([503]);
    expect(asked).toEqual([5, 10]);
  });

  it('gets 503 where a fetch was under way already: the issuer may have published its key since', async () => {
    issuer.fault = 'held';
    await verifier.pass(55);
    await issuer.rotate('new');
    const status = statusOfNew();
    const known = await issuer.token({ key: issuer.keyOf('RS256') });
    expect(await statusOf(known)).toBe(200);
    issuer.fault = 'none';
    issuer.release();
    expect(await status).toBe(503);
    await verifier.pass(5);
    expect(await statusOfNew()).toBe(200);
  });

  it('waits for a fetch 800 ms at most, and tokens of known keys do not wait', async () => {
    await verifier.pass(5);
    issuer.fault = 'slow';
    const unknown = statusOfHeader({ kid: 'x' });
    await verifier.until(() => issuer.isHoldingBack);
    expect(await statusOfNew()).toBe(200);
    jest.advanceTimersByTime(800);
    expect(await unknown).toBe(503);
    await verifier.pass(2);
  });
});

describe('a rotation', () => {
  it('without warning: the first token of the new key gets 200, one of the withdrawn key 401', async () => {
    for (const kid of ['k1', 'k2', 'k3']) {
      await verifier.pass(MINUTE_SECONDS + 5);
      const former = issuer.signer;
      await issuer.rotate(kid, { keepOld: false });
      const crowd = Array.from({ length: 50 }, () => statusOfNew());
      expect(new Set(await Promise.all(crowd))).toEqual(new Set([200]));
      expect(await statusOfNew(former)).toBe(401);
    }
  });

  it('without key ids: the first token of the new key gets 200', async () => {
    const keys = [await signingKey('ES256', 'a'), await signingKey('ES256', 'b')];
    issuer.published = keys.map(withoutKeyId);
    await verifier.pass(MINUTE_SECONDS);
    const header = { kid: undefined };
    for (const key of keys) expect(await statusOf(await issuer.token({ key, header }))).toBe(200);
    await verifier.pass(5);
    const next = await signingKey('ES256', 'c');
    issuer.published = [next, ...keys].map(withoutKeyId);
    expect(await statusOf(await issuer.token({ key: next, header }))).toBe(200);
  });

  it.each([
    { forged: 'unknown key ids', headerOf: (index: number) => ({ kid: `forged-${index}` }) },
    { forged: 'no key id', headerOf: () => ({ kid: undefined }) },
  ])(
    'beside a flood of forged tokens with $forged: 200 within 6 s, never 401; one fetch in 5 s at most',
    async ({ headerOf }) => {
      let index = 0;
      const forge = async (): Promise<number> => {
        index += 1;
        return statusOf(await issuer.token({ key: stranger, header: headerOf(index) }));
      };
      const flood = () => Promise.all([forge(), forge(), forge(), forge()]);
      const before = await verifier.pass(20, flood);
      await issuer.rotate('new');
      const token = await issuer.token();
      const statuses: number[] = [];
      const after = await verifier.pass(120, async () => {
        const forged = flood();
        statuses.push(await statusOf(token));
        await forged;
      });
      const first = statuses.indexOf(200);
      expect(first).toBeGreaterThanOrEqual(0);
      expect(first).toBeLessThan(6);
      expect(statuses.slice(0, first)).not.toContain(401);
      expect(new Set(statuses.slice(first))).toEqual(new Set([200]));
      const asked = [...before, ...after.map((second) => second + 20)];
      const pauses = asked.slice(1).map((second, at) => second - (asked[at] ?? 0));
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(5);
      expect(Math.max(...pauses)).toBeLessThanOrEqual(MINUTE_SECONDS);
    },
  );

  it.each<Fault>(['slow', 'status 500', 'down'])(
    'while the key set is %s: 503 until a fetch has succeeded, then 200; known keys stay',
    async (fault) => {
      issuer.fault = fault;
      const known = await issuer.token();
      await issuer.rotate('new');
      const token = await issuer.token();
      const { jwksHits } = issuer;
      for (let time = 1; time <= 30; time++) {
        expect(await statusOf(known)).toBe(200);
        expect(await statusInTime(token)).toBe(503);
      }
      expect(issuer.jwksHits).toBeGreaterThan(jwksHits);
      issuer.fault = 'none';
      await verifier.pass(MINUTE_SECONDS);
      expect(await statusOf(token)).toBe(200);
    },
  );
});

describe('an issuer', () => {
  it.each<Fault>(['html', 'redirect', 'endless', 'bomb', 'drip'])(
    'that answers with %s: known keys stay, and nothing of the answer counts',
    async (fault) => {
      const known = await issuer.token();
      issuer.fault = fault;
      const key = await signingKey('ES256', 'of-this-answer');
      issuer.published = [key.jwk];
      await verifier.pass(MINUTE_SECONDS);
      await verifier.pass(5);
      expect(verifier.issuer.signingKeys.state.name).toBe('away');
      expect(await statusOf(known)).toBe(200);
      expect(await statusInTime(await issuer.token({ key }))).not.toBe(200);
    },
  );

  it.each([
    { what: 'another issuer', members: { issuer: 'https://b' }, fault: 'names the issuer' },
    { what: 'no key set', members: { jwks_uri: '' }, fault: 'has no jwks_uri' },
    { what: 'a list', members: { jwks_uri: ['https://a/jwks'] }, fault: 'has no jwks_uri' },
    {
      what: 'a key set in the address, itself on loopback',
      issuer: 'http://127.0.0.1',
      members: { jwks_uri: 'data:,{"keys":[]}' },
      fault: 'without https',
    },
    { what: 'plain http', members: { jwks_uri: 'http://a/jwks' }, fault: 'without https' },
    { what: 'loopback', members: { jwks_uri: 'http://127.0.0.1/jwks' }, fault: 'without https' },
    { what: 'a user', members: { jwks_uri: 'https://u:p@a/jwks' }, fault: 'with a user' },
    {
      what: 'plain http, itself on loopback',
      issuer: 'http://127.0.0.1',
      members: { jwks_uri: 'http://a/jwks' },
      fault: 'without https',
    },
  ])('whose metadata name $what: they are refused', async (row) => {
    const { issuer: name = 'https://a', members, fault } = row;
    publish({ issuer: name, jwks_uri: `${name}/jwks`, ...members });
    await expect(discover(name, { OAUTH_ALLOW_HTTP: false })).rejects.toThrow(fault);
  });

  it('whose metadata have members of other types: these are left out', async () => {
    const needed = { issuer: 'https://a', jwks_uri: 'https://a/jwks' };
    publish({
      ...needed,
      authorization_endpoint: 'javascript:alert(1)',
      token_endpoint: 7,
      scopes_supported: 7,
    });
    const metadata = await discover('https://a', { OAUTH_ALLOW_HTTP: false });
    expect(metadata).toEqual({ ...needed, scopes_supported: [] });
    expect(() => openApiDocument(new Configuration(), metadata)).not.toThrow();
  });
});

/** All addresses answer with it. */
function publish(metadata: object): void {
  jest.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json(metadata));
}
