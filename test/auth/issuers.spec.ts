// The service asks issuers over real HTTP. The tests move the clock, so that no test waits.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type JWK, exportJWK } from 'jose';
import { discover } from '../../src/auth/issuers/discovery.js';
import { IssuerFault, explainFetchError, explainStatus } from '../../src/auth/issuers/issuer-fault.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { createOpenApiDocument } from '../../src/documentation/openapi-document.js';
import {
  type Fault,
  Issuer,
  type SigningKey,
  encodePart,
  createSigningKey,
  createSigningKeys,
} from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

const MINUTE_SECONDS = 60;
/** The time between the starts of two fetches, REFRESH_INTERVAL_MS of key-set.ts. */
const REFRESH_SECONDS = 35;
/** The least time from the start of a fetch to a fetch for an unknown key id, RETRY_INTERVAL_MS of key-set.ts. */
const RETRY_SECONDS = 5;

let issuer: Issuer;
/** The keys that the issuer has when a test begins. */
let firstKeys: SigningKey[];
let other: Issuer;
let otherToken: string;
let stranger: SigningKey;
let verifier: Verifier;

beforeAll(async () => {
  other = await Issuer.start();
  otherToken = await other.createToken();
  stranger = await createSigningKey('RS256', 'stranger');
  firstKeys = await createSigningKeys();
});
afterAll(() => other.close());
beforeEach(async () => {
  issuer = await Issuer.start(firstKeys);
  Verifier.replaceClock();
  verifier = await new Verifier([issuer, other]).start();
});
afterEach(async () => {
  expect(await verifier.findStatus(otherToken)).toBe(200); // callers of the other issuer never notice anything
  verifier.issuers.onApplicationShutdown();
  await verifier.waitUntilSettled();
  jest.restoreAllMocks();
  jest.useRealTimers();
  await issuer.close();
});

const statusOf = (token: string): Promise<number> => verifier.findStatus(token);
const statusOfNewToken = async (key?: SigningKey): Promise<number> => statusOf(await issuer.createToken({ key }));
const statusOfTokenWith = async (header: object): Promise<number> =>
  statusOf(await issuer.createToken({ header: { ...header } }));
/** Returns the reason why a token is refused, or undefined if it is accepted. */
async function refusalOf(token: string): Promise<string | undefined> {
  const verdict = await verifier.verify(token);
  return verdict.outcome === 'refused' ? verdict.reason : undefined;
}
const withoutKeyId = ({ jwk }: SigningKey): JWK => ({ ...jwk, kid: undefined });

/** Returns the status for this token. Moves the clock forward, second by second, until the answer has come. */
async function statusInTime(token: string): Promise<number> {
  const answer: { status?: number } = {};
  const ask = async (): Promise<void> => {
    answer.status = await statusOf(token);
  };
  void ask();
  while (answer.status === undefined) await verifier.pass(1);
  return answer.status;
}

/** Returns a token with this header, signed by this function. jose would refuse to make some of these signatures. */
function tokenSignedBy(
  header: { readonly alg: string; readonly kid: unknown },
  signatureOf: (content: Buffer) => Buffer,
): string {
  const content = `${encodePart(header)}.${encodePart(issuer.claims)}`;
  return `${content}.${signatureOf(Buffer.from(content)).toString('base64url')}`;
}

function makeRsaKeyAndToken(kid: string, modulusLength: number): { jwk: JWK; token: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  const token = tokenSignedBy({ alg: 'RS256', kid }, (content) => sign('sha256', content, privateKey));
  return { jwk: { ...publicKey.export({ format: 'jwk' }), kid }, token };
}

describe('a key set', () => {
  it('that becomes empty: within a minute all tokens are refused, also remembered ones', async () => {
    const known = await issuer.createToken();
    expect(await statusOf(known)).toBe(200);
    issuer.published = [];
    await verifier.pass(MINUTE_SECONDS);
    for (const token of [known, await issuer.createToken(), known]) {
      expect(await statusOf(token)).toBe(401);
    }
    expect(verifier.warnings.map(({ message }) => message)).toContain(
      'issuer: no key that can verify a token, callers are refused',
    );
  });

  it('may contain a withdrawn key again: after the next fetch the tokens of this key are accepted', async () => {
    const { published } = issuer;
    issuer.published = [];
    await verifier.pass(MINUTE_SECONDS);
    issuer.published = published;
    await verifier.pass(RETRY_SECONDS);
    expect(await statusOfNewToken()).toBe(200);
  });

  it('may have two keys with the same id: if one key is withdrawn, only its tokens are refused', async () => {
    const rsa = await createSigningKey('RS256', 'twin');
    const ec = await createSigningKey('ES256', 'twin');
    issuer.published.push(rsa.jwk, ec.jwk);
    await verifier.pass(MINUTE_SECONDS);
    const ofRsa = await issuer.createToken({ key: rsa });
    const ofEc = await issuer.createToken({ key: ec });
    expect([await statusOf(ofRsa), await statusOf(ofEc)]).toEqual([200, 200]);
    issuer.published = [ec.jwk];
    await verifier.pass(MINUTE_SECONDS);
    expect([await statusOf(ofRsa), await statusOf(ofEc)]).toEqual([401, 200]);
    expect([await statusOfNewToken(rsa), await statusOfNewToken(ec)]).toEqual([401, 200]);
  });

  it('may have a key twice, and unusable keys: only the tokens of usable keys are accepted', async () => {
    const twice = await createSigningKey('ES256', 'twice');
    const { use: _, ...twiceWithoutUse } = twice.jwk;
    const strong = makeRsaKeyAndToken('strong', 2_048);
    const weak = makeRsaKeyAndToken('weak', 1_024);
    const leaked = await createSigningKey('RS256', 'leaked');
    const withPrivatePart = { ...(await exportJWK(leaked.privateKey)), kid: 'leaked' };
    const forEncryption = { ...issuer.signer.jwk, kid: 'encryption', use: 'enc' };
    const broken = { kty: 'RSA', kid: 'broken', n: 'AA', e: 'AA' };
    const symmetric = { kid: 'symmetric', kty: 'oct', k: 'AAAA' };
    const unusable = [symmetric, forEncryption, weak.jwk, withPrivatePart, broken];
    issuer.published = [...unusable, strong.jwk, twice.jwk, twice.jwk, twiceWithoutUse, ...issuer.published];
    await verifier.pass(MINUTE_SECONDS);
    for (const key of [twice, issuer.signer]) expect(await statusOfNewToken(key)).toBe(200);
    expect(await statusOf(strong.token)).toBe(200);
    expect(await statusOfTokenWith({ kid: undefined })).toBe(200); // several keys fit, and one of them verifies the token
    expect(await statusOf(weak.token)).toBe(401);
    expect(await statusOfNewToken(leaked)).toBe(401);
    for (const { kid } of [forEncryption, broken]) expect(await statusOfTokenWith({ kid })).toBe(401);
    const secret = Buffer.from(symmetric.k, 'base64url');
    const hmac = (content: Buffer): Buffer => createHmac('sha256', secret).update(content).digest();
    expect(await statusOf(tokenSignedBy({ alg: 'HS256', kid: symmetric.kid }, hmac))).toBe(401);
  });

  it('may replace a key and keep its id: within a minute only tokens of the new key are accepted', async () => {
    const former = await createSigningKey('ES256', 'one');
    const next = await createSigningKey('ES256', 'one');
    issuer.published = [former.jwk];
    await verifier.pass(MINUTE_SECONDS);
    const known = await issuer.createToken({ key: former });
    expect(await statusOf(known)).toBe(200);
    issuer.published = [next.jwk];
    await verifier.pass(MINUTE_SECONDS);
    expect([await statusOf(known), await statusOfNewToken(next)]).toEqual([401, 200]);
  });

  it('is fetched 35 s after the last fetch began', async () => {
    expect(await verifier.pass(150)).toEqual([1, 2, 3, 4].map((count) => count * REFRESH_SECONDS));
  });

  it('may have a key for less than 35 s: later the tokens of this key are refused, also remembered ones', async () => {
    await verifier.pass(MINUTE_SECONDS);
    const { published } = issuer;
    const brief = await issuer.rotate('brief');
    const token = await issuer.createToken({ key: brief });
    expect(await statusOf(token)).toBe(200);
    issuer.published = published;
    await verifier.pass(MINUTE_SECONDS);
    expect([await statusOf(token), await statusOfNewToken(brief)]).toEqual([401, 401]);
  });

  it.each([{ isOldLeft: true }, { isOldLeft: false }])(
    'that moves to another address is found within a minute (the old address still answers: $isOldLeft)',
    async ({ isOldLeft }) => {
      issuer.move({ isOldLeft });
      await issuer.rotate('moved');
      await verifier.pass(MINUTE_SECONDS);
      expect(await statusOfNewToken()).toBe(200);
    },
  );

  it('is fetched from its former address while the metadata name another issuer', async () => {
    issuer.metadata = { issuer: other.url, jwks_uri: `${other.url}/jwks` };
    await issuer.rotate('new');
    await verifier.pass(MINUTE_SECONDS);
    expect(await statusOfNewToken()).toBe(200);
    expect(verifier.warnings.map(({ message }) => message)).toContain(
      `metadata of issuer ${issuer.url}: failed, retrying`,
    );
    issuer.metadata = {};
    await verifier.pass(MINUTE_SECONDS);
    expect(verifier.infos.map(({ message }) => message)).toContain(`metadata of issuer ${issuer.url}: works again`);
  });
});

describe('a token that no known key verifies', () => {
  it('is refused without a fetch if its key id is known', async () => {
    await verifier.pass(RETRY_SECONDS); // from now on an unknown key id may cause a fetch
    const forged = [
      { key: stranger, header: { kid: issuer.signer.kid } },
      { header: { kid: 'ec-1' } }, // the key of this id is for another algorithm
      { key: issuer.findKey('ES256'), header: { kid: 'rsa-1' } },
    ];
    for (const parts of forged) expect(await refusalOf(await issuer.createToken(parts))).toBe('signature');
    expect(issuer.jwksHits).toBe(1);
  });

  it.each([{ kid: undefined }, { kid: 7 }, { kid: null }])(
    'is refused without a fetch if its key id is $kid',
    async ({ kid }) => {
      await verifier.pass(RETRY_SECONDS);
      expect(await statusOf(tokenSignedBy({ alg: 'RS256', kid }, () => Buffer.alloc(256)))).toBe(401);
      expect(issuer.jwksHits).toBe(1);
    },
  );

  it('is refused, and causes a fetch only if the last fetch began 5 s ago or earlier', async () => {
    const statuses: number[] = [];
    const asked = await verifier.pass(12, async () => statuses.push(await statusOfTokenWith({ kid: 'x' })));
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(asked).toEqual([RETRY_SECONDS, 2 * RETRY_SECONDS]);
  });

  it('gets 503 if the fetch that it caused fails, and the fetch is repeated after 5 s', async () => {
    await verifier.pass(RETRY_SECONDS);
    issuer.fault = 'status 500';
    const verdict = { outcome: 'undecided', reason: 'signing-keys-not-fetched' };
    const asked = await verifier.pass(12, async () => {
      expect(await verifier.verify(await issuer.createToken({ header: { kid: 'x' } }))).toMatchObject(verdict);
    });
    expect(asked).toEqual([1, 1 + RETRY_SECONDS, 1 + 2 * RETRY_SECONDS]);
  });

  it('waits for a running fetch, while tokens of known keys do not wait', async () => {
    issuer.fault = 'held';
    await verifier.pass(REFRESH_SECONDS);
    const unknown = statusOfTokenWith({ kid: 'x' });
    expect(await statusOfNewToken()).toBe(200);
    issuer.release();
    expect(await unknown).toBe(401);
    expect(issuer.jwksHits).toBe(2);
  });

  it('gets 503 after a wait of 2 s, and the fetch goes on, so that the next call gets 200', async () => {
    await verifier.pass(RETRY_SECONDS);
    const key = await issuer.rotate('slowly-published');
    issuer.fault = 'held';
    const first = statusOfNewToken(key);
    await verifier.until(() => issuer.isHoldingBack);
    jest.advanceTimersByTime(2_000); // MAX_CALLER_WAIT_MS of key-set.ts
    expect(await first).toBe(503);
    issuer.release();
    await verifier.until(() => !verifier.issuer.isFetching);
    expect(await statusOfNewToken(key)).toBe(200);
    expect(issuer.jwksHits).toBe(2);
  });

  it('causes a second fetch if the running fetch began 5 s ago, before the key was published', async () => {
    issuer.fault = 'held';
    await verifier.pass(REFRESH_SECONDS);
    jest.advanceTimersByTime(6_000);
    const key = await issuer.rotate('published-meanwhile');
    const status = statusOfNewToken(key);
    issuer.release(); // answers with the key set without the new key
    await verifier.until(() => issuer.jwksHits === 3);
    issuer.release();
    expect(await status).toBe(200);
  });

  it('waits for the same fetch as all other such tokens', async () => {
    await verifier.pass(RETRY_SECONDS);
    const tokens = await Promise.all(
      Array.from({ length: 500 }, (_, index) => issuer.createToken({ header: { kid: `forged-${index}` } })),
    );
    const statuses = await Promise.all(tokens.map(statusOf));
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(issuer.jwksHits).toBe(2);
  });

  it('causes a fetch of the key set even if metadata cannot be fetched, and gets 200 if its key is found', async () => {
    await verifier.pass(30);
    issuer.fault = 'silent metadata';
    await verifier.pass(6); // after 35 s the timer has begun a fetch, which waits for the metadata
    const key = await issuer.rotate('beside-silent-metadata');
    await verifier.pass(RETRY_SECONDS);
    expect(await statusOfNewToken(key)).toBe(200);
  });
});

describe('a rotation', () => {
  it('that was not announced: the first token of the new key gets 200 if there was no fetch in the last 5 s', async () => {
    for (const kid of ['k1', 'k2', 'k3']) {
      await verifier.pass(MINUTE_SECONDS + RETRY_SECONDS);
      const former = issuer.signer;
      await issuer.rotate(kid, { keepOld: false });
      const crowd = Array.from({ length: 50 }, () => statusOfNewToken());
      expect(new Set(await Promise.all(crowd))).toEqual(new Set([200]));
      await verifier.pass(1);
      expect(await statusOfNewToken(former)).toBe(401);
    }
  });

  it('without key ids: tokens of the new key get 200 after the key has been published for a minute', async () => {
    const keys = [await createSigningKey('ES256', 'a'), await createSigningKey('ES256', 'b')];
    issuer.published = keys.map(withoutKeyId);
    await verifier.pass(MINUTE_SECONDS);
    const header = { kid: undefined };
    for (const key of keys) expect(await statusOf(await issuer.createToken({ key, header }))).toBe(200);
    const next = await createSigningKey('ES256', 'c');
    issuer.published = [next, ...keys].map(withoutKeyId);
    const early = await issuer.createToken({ key: next, header });
    expect(await refusalOf(early)).toBe('signature');
    await verifier.pass(MINUTE_SECONDS);
    expect(await statusOf(early)).toBe(200);
  });

  it.each([
    { forged: 'tokens of unknown key ids', headerOf: (index: number) => ({ kid: `forged-${index}` }) },
    { forged: 'tokens without a key id', headerOf: () => ({ kid: undefined }) },
  ])(
    'to a key that is published 5 s before it signs: tokens of this key get 200, also during a flood with $forged',
    async ({ headerOf }) => {
      let index = 0;
      const forge = async (): Promise<number> => {
        index += 1;
        return statusOf(await issuer.createToken({ key: stranger, header: headerOf(index) }));
      };
      const flood = () => Promise.all([forge(), forge(), forge(), forge()]);
      const askedBefore = await verifier.pass(20, flood);
      await issuer.rotate('new');
      const askedWhenPublished = await verifier.pass(RETRY_SECONDS, flood);
      const token = await issuer.createToken();
      const statuses = new Set<number>();
      const askedAfter = await verifier.pass(120, async () => {
        const forged = flood();
        statuses.add(await statusOf(token));
        await forged;
      });
      expect([...statuses]).toEqual([200]);
      const fetches = askedBefore.length + askedWhenPublished.length + askedAfter.length;
      const passedSeconds = 20 + RETRY_SECONDS + 120;
      const fetchesForTokens = passedSeconds / RETRY_SECONDS;
      const fetchesByTimer = passedSeconds / REFRESH_SECONDS;
      expect(fetches).toBeLessThanOrEqual(fetchesForTokens + fetchesByTimer);
    },
  );

  it.each<Fault>(['slow', 'status 500', 'down'])(
    'while the issuer has the fault "%s": tokens of the new key get 503, and those of known keys 200',
    async (fault) => {
      await verifier.pass(RETRY_SECONDS);
      issuer.fault = fault;
      const known = await issuer.createToken();
      await issuer.rotate('new');
      const token = await issuer.createToken();
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

describe('an issuer whose nodes have different key sets', () => {
  it('loses no caller: a key that one answer lacks stays in use, because the next answer has it', async () => {
    const { published } = issuer;
    await issuer.rotate('on-one-node');
    issuer.nodes = [issuer.published, published];
    const tokens = [await issuer.createToken(), await issuer.createToken({ key: issuer.findKey('RS256') })];
    await verifier.pass(RETRY_SECONDS);
    expect(await statusOfNewToken()).toBe(200); // the token caused a fetch, because its key id was unknown
    const statuses = new Set<number>();
    const asked = await verifier.pass(300, async () => {
      for (const token of [...tokens, await issuer.createToken()]) statuses.add(await statusOf(token));
    });
    expect([...statuses]).toEqual([200]);
    expect(asked.length).toBeLessThan(25); // about two fetches in 35 s
    const message = 'issuer: an answer lacks keys, the next answer will show whether they are withdrawn';
    expect(verifier.infos).toContainEqual({ message, issuer: issuer.url, keyIds: ['on-one-node'] });
  });

  it('may order its keys differently on each node, and no token is verified again', async () => {
    const { published } = issuer;
    const rotated = [1, 2].map((count) => [...published.slice(count), ...published.slice(0, count)]);
    issuer.nodes = [published.toReversed(), ...rotated];
    const countVerified = async () => (await verifier.metrics.tokensVerified.get()).values[0]?.value ?? 0;
    const before = await countVerified();
    const token = await issuer.createToken();
    for (let count = 0; count < 6; count++) {
      expect(await statusOf(token)).toBe(200);
      await verifier.pass(REFRESH_SECONDS);
    }
    expect((await countVerified()) - before).toBe(1);
  });

  it('is asked at most twice in 35 s, also if the key sets have no key in common', async () => {
    const { published } = issuer;
    await issuer.rotate('alone', { keepOld: false });
    issuer.nodes = [published, issuer.published];
    await verifier.pass(MINUTE_SECONDS);
    const asked = await verifier.pass(10 * REFRESH_SECONDS);
    expect(asked.length).toBeLessThanOrEqual(2 * 10);
    for (const key of [issuer.signer, issuer.findKey('RS256')]) expect(await statusOfNewToken(key)).toBe(200);
  });
});

describe('an issuer', () => {
  it('may withdraw a key: its tokens are refused after two fetches without the key, 1 s apart', async () => {
    const token = await issuer.createToken();
    issuer.published = issuer.published.slice(1);
    const asked = await verifier.pass(REFRESH_SECONDS);
    expect(await statusOf(token)).toBe(200);
    expect([...asked, ...(await verifier.pass(1))]).toEqual([REFRESH_SECONDS, 1]);
    expect([await statusOf(token), await statusOfNewToken()]).toEqual([401, 401]);
  });

  it.each<{ fault: Fault; reason: string }>([
    { fault: 'html', reason: 'answers with a page' },
    { fault: 'redirect', reason: 'redirects (status 302)' },
    { fault: 'endless', reason: 'the document has more than 1048576 bytes' },
    { fault: 'bomb', reason: 'the document has more than 1048576 bytes' },
    { fault: 'drip', reason: 'gives no whole answer within 10 s' },
  ])('with the fault "$fault": known keys stay in use, and no key of the answer is used', async ({ fault, reason }) => {
    const known = await issuer.createToken();
    issuer.fault = fault;
    const key = await createSigningKey('ES256', 'of-this-answer');
    issuer.published = [key.jwk];
    await verifier.pass(MINUTE_SECONDS + RETRY_SECONDS);
    expect(verifier.warnings).toContainEqual(
      expect.objectContaining({
        message: `issuer ${issuer.url}: failed, retrying`,
        reason: expect.stringContaining(reason),
      }),
    );
    expect(await statusOf(known)).toBe(200);
    expect(await statusInTime(await issuer.createToken({ key }))).not.toBe(200);
  });

  it.each([
    { what: 'no issuer', members: { issuer: undefined }, fault: 'names no issuer, so it is no metadata document' },
    { what: 'another issuer', members: { issuer: 'https://b' }, fault: 'names the issuer "https://b", not https://a' },
    {
      what: 'another issuer, of whose name 200 characters are shown',
      members: { issuer: 'b'.repeat(201) },
      fault: `names the issuer "${'b'.repeat(200)}", not https://a`,
    },
    {
      what: 'a key set over plain http, of whose path 100 characters are shown',
      members: { jwks_uri: `http://a/${'b'.repeat(100)}` },
      fault: /: http:\/\/a\/b{99}\. A jwks_uri/,
    },
    {
      what: 'its name with a slash at the end',
      members: { issuer: 'https://a/' },
      fault: 'has to be exactly the iss of the tokens',
    },
    { what: 'no key set', members: { jwks_uri: '' }, fault: 'has no jwks_uri' },
    { what: 'a list of key sets', members: { jwks_uri: ['https://a/jwks'] }, fault: 'has no jwks_uri' },
    {
      what: 'a key set inside a data: address, and the issuer is on loopback',
      issuer: 'http://127.0.0.1',
      members: { jwks_uri: 'data:,{"keys":[]}' },
      fault: 'without https',
    },
    { what: 'a key set over plain http', members: { jwks_uri: 'http://a/jwks' }, fault: 'without https' },
    { what: 'a key set on loopback', members: { jwks_uri: 'http://127.0.0.1/jwks' }, fault: 'without https' },
    { what: 'a user in the address of the key set', members: { jwks_uri: 'https://u:p@a/jwks' }, fault: 'with a user' },
    {
      what: 'a key set over plain http, and the issuer is on loopback',
      issuer: 'http://127.0.0.1',
      members: { jwks_uri: 'http://a/jwks' },
      fault: 'without https',
    },
  ])('publishes metadata that are refused: $what', async (row) => {
    const { issuer: name = 'https://a', members, fault } = row;
    const published = publish({ issuer: name, jwks_uri: `${name}/jwks`, ...members });
    await expect(discover(name, { OAUTH_ALLOW_HTTP: false }, published)).rejects.toThrow(fault);
  });

  it('may use plain http only with OAUTH_ALLOW_HTTP=true, and its key set only if the issuer uses http', async () => {
    const metadata = { issuer: 'http://a', jwks_uri: 'http://a/jwks' };
    expect(await discover('http://a', { OAUTH_ALLOW_HTTP: true }, publish(metadata))).toMatchObject(metadata);
    const withHttp = publish({ issuer: 'https://a', jwks_uri: 'http://a/jwks' });
    await expect(discover('https://a', { OAUTH_ALLOW_HTTP: true }, withHttp)).rejects.toThrow('without https');
    await expect(discover('http://a', { OAUTH_ALLOW_HTTP: false })).rejects.toThrow(
      'http://a is no address with metadata',
    );
  });

  it('may have its key set at an address with an @ in the path, as Google has', async () => {
    const metadata = { issuer: 'https://a', jwks_uri: 'https://keys.example/jwk/name@project.example' };
    expect(await discover('https://a', { OAUTH_ALLOW_HTTP: false }, publish(metadata))).toMatchObject(metadata);
  });

  it('that is only a name is not asked for metadata', async () => {
    const fetch = publish({});
    const fault = 'accounts is no address with metadata. Set OAUTH_JWKS_URI to the address of its key set';
    await expect(discover('accounts', { OAUTH_ALLOW_HTTP: false }, fetch)).rejects.toThrow(fault);
    expect(fetch).not.toHaveBeenCalled();
  });

  it('that gives no answer in time at the first address of its metadata is not asked at the second', async () => {
    const fetch = publish({}).mockRejectedValue(new IssuerFault('no answer', '', 'timeout'));
    await expect(discover('https://a', { OAUTH_ALLOW_HTTP: false }, fetch)).rejects.toThrow('no answer');
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it.each([
    { first: 'answers 404', fault: explainStatus('https://a', 404) },
    {
      first: 'closes the connection, as nginx does with 444',
      fault: explainFetchError('https://a', Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })),
    },
    {
      first: 'has a body that is not compressed as its header says',
      fault: explainFetchError('https://a', Object.assign(new Error(), { code: 'Z_DATA_ERROR' })),
    },
  ])(
    'that has metadata only at the address of RFC 8414 is found, even if the first address $first',
    async ({ fault }) => {
      const metadata = { issuer: 'https://a/tenant', jwks_uri: 'https://a/keys' };
      const addresses: string[] = [];
      const fetch = async (address: string): Promise<unknown> => {
        addresses.push(address);
        if (addresses.length === 1) throw fault;
        return metadata;
      };
      expect(await discover('https://a/tenant', { OAUTH_ALLOW_HTTP: false }, fetch)).toMatchObject(metadata);
      expect(addresses).toEqual([
        'https://a/tenant/.well-known/openid-configuration',
        'https://a/.well-known/oauth-authorization-server/tenant',
      ]);
    },
  );

  it('with unchanged metadata keeps the same metadata object, so that no OpenAPI document is made again', async () => {
    const { metadata } = verifier.issuer;
    await verifier.pass(MINUTE_SECONDS);
    expect(metadata?.issuer).toBe(issuer.url);
    expect(verifier.issuer.metadata).toBe(metadata);
  });

  it('with OAUTH_JWKS_URI needs no metadata, and the log has no warning', async () => {
    const variables = { OAUTH_ISSUER: ['accounts'], OAUTH_JWKS_URI: [`${issuer.url}/jwks`] };
    const configured = await new Verifier([issuer], variables).start();
    expect(await configured.findStatus(await issuer.createToken({ claims: { iss: 'accounts' } }))).toBe(200);
    expect(configured.warnings).toEqual([]);
    configured.issuers.onApplicationShutdown();
  });

  it('may publish metadata with optional members that cannot be used: they are ignored', async () => {
    const needed = { issuer: 'https://a', jwks_uri: 'https://a/jwks' };
    const others = { authorization_endpoint: 'javascript:alert(1)', token_endpoint: 7, scopes_supported: 7 };
    const metadata = await discover('https://a', { OAUTH_ALLOW_HTTP: false }, publish({ ...needed, ...others }));
    expect(metadata).toEqual({ ...needed, scopes_supported: [] });
    expect(() => createOpenApiDocument(new Configuration(), metadata)).not.toThrow();
  });
});

/** Returns a fetch function that gets these metadata from every address. */
function publish(metadata: object) {
  return jest.fn<(address: string) => Promise<unknown>>().mockResolvedValue(metadata);
}
