// What is remembered of access tokens, and tokens whose members have any JSON type.
import { KeyObject, sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { usedHeap } from '../support/process-figures.js';
import { Issuer, type SigningKey, encodePart } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

const MAX_REMEMBERED_BYTES = 8 * 1024 ** 2;
const LARGEST_TOKEN_BYTES = 12 * 1024;
const ACCEPTED = expect.objectContaining({ outcome: 'accepted' });
const EXPIRED = { outcome: 'refused', reason: 'expired', tokenClient: 'tests' };

let issuer: Issuer;
let ecKey: SigningKey;
let verifier: Verifier;

beforeAll(async () => {
  issuer = await Issuer.start();
  ecKey = issuer.findKey('ES256');
});
afterEach(() => void jest.useRealTimers());
afterAll(() => issuer.close());
beforeEach(async () => {
  verifier = await new Verifier([issuer]).start();
});

/** How many signatures were checked. */
async function verifiedCount(): Promise<number> {
  const { values } = await verifier.metrics.tokensVerified.get();
  return values[0]?.value ?? 0;
}

it('a token is refused until 30 s before its nbf', async () => {
  const nbf = Math.floor(Date.now() / 1000) + 3_600;
  const token = await issuer.token({ claims: { nbf, exp: nbf + 60 } });
  jest.useFakeTimers({
    now: (nbf - 30) * 1_000 - 1,
    doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'],
  });
  expect(await verifier.verify(token)).toEqual({
    outcome: 'refused',
    reason: 'not-before',
    tokenClient: 'tests',
  });
  jest.setSystemTime((nbf - 30) * 1_000);
  expect(await verifier.verify(token)).toEqual(ACCEPTED);
});

describe('Ed25519 and EdDSA are one algorithm (RFC 9864)', () => {
  const NAMES = ['EdDSA', 'Ed25519', undefined];
  const PAIRS = NAMES.flatMap((keyName) => ['EdDSA', 'Ed25519'].map((tokenName) => ({ keyName, tokenName })));

  it.each(PAIRS)('a token that says $tokenName passes beside a key that says $keyName', async (pair) => {
    const { keyName, tokenName } = pair;
    const key = issuer.findKey('EdDSA');
    const { published } = issuer;
    issuer.published = published.map((jwk) => (jwk.kid === key.kid ? { ...jwk, alg: keyName } : jwk));
    const inUse = await new Verifier([issuer]).start();
    issuer.published = published;
    for (const kid of [key.kid, undefined]) {
      const content = `${encodePart({ alg: tokenName, kid })}.${encodePart(issuer.claims)}`;
      const signature = sign(null, Buffer.from(content), KeyObject.from(key.privateKey)).toString('base64url');
      expect(await inUse.verify(`${content}.${signature}`)).toEqual(ACCEPTED);
    }
  });
});

describe('a verified token', () => {
  it('is not verified again', async () => {
    const token = await issuer.token();
    for (let time = 1; time <= 3; time++) expect(await verifier.verify(token)).toEqual(ACCEPTED);
    expect(await verifiedCount()).toBe(1);
  });

  it('is one of those that were used last: 8 MiB of their text are remembered', async () => {
    const claims = { padding: 'x'.repeat(8_500) };
    const making = Array.from({ length: 800 }, () => issuer.token({ key: ecKey, claims }));
    const [inUse = '', ...others] = await Promise.all(making);
    for (const [index, token] of others.entries()) {
      if (index % 50 === 0) expect(await verifier.verify(inUse)).toEqual(ACCEPTED);
      expect(await verifier.verify(token)).toEqual(ACCEPTED);
    }
    await verifier.verify(inUse);
    const before = await verifiedCount();
    expect(before).toBe(800); // so the one in use was verified once, although it is the oldest
    let bytes = inUse.length;
    for (const token of others.toReversed()) {
      await verifier.verify(token);
      if ((await verifiedCount()) > before) break; // it had to be verified again
      bytes += token.length;
    }
    expect(bytes).toBeLessThanOrEqual(MAX_REMEMBERED_BYTES);
    expect(bytes).toBeGreaterThan(MAX_REMEMBERED_BYTES - 2 * LARGEST_TOKEN_BYTES);
  });

  it('is remembered without the header that it came in', async () => {
    const tokens = await Promise.all(Array.from({ length: 500 }, () => issuer.token({ key: ecKey })));
    const blanks = ' '.repeat(14 * 1024);
    const before = usedHeap();
    for (const token of tokens) {
      const header = Buffer.from(`Bearer${blanks}${token}`).toString('latin1'); // as Node.js makes it
      expect(await verifier.tokens.verify(header)).toEqual(ACCEPTED);
    }
    expect(usedHeap() - before).toBeLessThan(4 * 1024 ** 2); // the headers have 7 MiB
    expect(await verifiedCount()).toBe(500);
    for (const token of tokens) expect(await verifier.verify(token)).toEqual(ACCEPTED);
    expect(await verifiedCount()).toBe(500);
  });

  it('counts until it expires, with 30 s for clocks that differ, and never again', async () => {
    const exp = Math.floor(Date.now() / 1000) + 60;
    const token = await issuer.token({ claims: { exp } });
    expect(await verifier.verify(token)).toEqual(ACCEPTED);
    const clock = jest.spyOn(Date, 'now').mockReturnValue((exp + 30) * 1_000 - 1);
    expect(await verifier.verify(token)).toEqual(ACCEPTED);
    clock.mockReturnValue((exp + 30) * 1_000);
    expect(await verifier.verify(token)).toEqual(EXPIRED);
    expect(await verifier.verify(token)).toEqual(EXPIRED);
    expect(await verifiedCount()).toBe(1);
  });
});

it('members of any JSON type: each token is accepted, refused or undecided, and none is a fault', async () => {
  const names = 'alg kid typ crit iss aud client_id azp exp nbf iat scope roles token_use nonce';
  const name = fc.constantFrom(...names.split(' '), '__proto__', 'toString', 'constructor');
  const value = fc.oneof(fc.jsonValue(), fc.constant({ toString: 1 }), fc.constant(null));
  const members = fc.dictionary(name, value, { maxKeys: 3 });
  const key = KeyObject.from(ecKey.privateKey);
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(members, members, fc.boolean(), async (header, claims, isSigned) => {
      const { kid } = ecKey;
      const encodedHeader = encodePart({ alg: 'ES256', kid, ...header });
      const content = `${encodedHeader}.${encodePart({ ...issuer.claims, ...claims })}`;
      const signing = { key, dsaEncoding: 'ieee-p1363' } as const;
      const signature = isSigned ? sign('sha256', Buffer.from(content), signing) : Buffer.alloc(64);
      const token = `${content}.${signature.toString('base64url')}`;
      const status = await verifier.findStatus(token);
      statuses.add(status);
      expect({ isSigned, status }).not.toEqual({ isSigned: false, status: 200 });
    }),
    { numRuns: 400, seed: 43 }, // the same tokens in each run, so that one that fails was failed by a change
  );
  expect(statuses).toContain(200);
  expect(statuses).toContain(401);
});
