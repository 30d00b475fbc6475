import { KeyObject, constants, createHmac, sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type CryptoKey, exportSPKI, importJWK } from 'jose';
import type { RefusalReason } from '../../src/auth/verdict.js';
import { AUDIENCE, Issuer, type SigningKey, encodePart, createSigningKey } from '../support/issuer.js';
import { localWorld } from '../support/local-world.js';
import { stopMonotonicClock } from '../support/monotonic-clock.js';
import { expectProblem } from '../support/problem.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import type { Reply } from '../support/exchange.js';
import { until } from '../support/until.js';

stopMonotonicClock(); // otherwise an unknown key id would cause a fetch after RETRY_INTERVAL_MS
const world = localWorld();
const stranger = await createSigningKey('RS256', 'stranger');
/** An issuer that the service does not accept. Its key set contains the key of the stranger. */
const elsewhere = await Issuer.start();
elsewhere.published = [stranger.jwk];
const addressElsewhere = `${elsewhere.url}/jwks`;
let requestCount = 0;

/** The age at which signing keys are not used any more, MAX_AGE_SECONDS of key-set.ts. */
const MAX_KEY_AGE_SECONDS = 86_400;

afterAll(() => elsewhere.close());

/** The parts in which a token differs from a valid token, and the key that signs it. Undefined leaves a member out. */
interface Parts {
  header?: Record<string, unknown>;
  claims?: Record<string, unknown>;
  by?: SigningKey;
}

/** Adds titles to the rows. Titles leave out long texts, and keys, because keys differ from run to run. */
function titled(rows: readonly Parts[]): { readonly what: string; readonly parts: Parts }[] {
  const show = (name: string, value: unknown): unknown => {
    if (name === 'by' || name === 'jwk') return 'of the stranger';
    if (value === addressElsewhere) return 'elsewhere';
    if (value === undefined) return '(left out)';
    const isLong = typeof value === 'string' && value.length > 100;
    return isLong ? `${value.length} characters` : value;
  };
  return rows.map((parts) => ({ what: JSON.stringify(parts, show), parts }));
}

const now = (): number => Math.floor(Date.now() / 1000);
const encodeText = (text: string): string => Buffer.from(text).toString('base64url');
function contentOf({ header, claims, by = world.issuer.signer }: Parts): string {
  const encodedHeader = encodePart({ alg: 'RS256', kid: by.kid, typ: 'at+jwt', ...header });
  return `${encodedHeader}.${encodePart({ ...world.issuer.claims, ...claims })}`;
}
/** Returns a signed token. The signature has the algorithm of the header, if the key supports that algorithm. */
function signed(parts: Parts = {}): string {
  const { privateKey, alg: algorithmOfKey } = parts.by ?? world.issuer.signer;
  const content = contentOf(parts);
  const named = parts.header?.['alg'];
  const algorithm = typeof named === 'string' ? named : algorithmOfKey;
  return `${content}.${signText(content, algorithm, KeyObject.from(privateKey)).toString('base64url')}`;
}
function signText(content: string, algorithm: string, key: KeyObject): Buffer {
  const text = Buffer.from(content);
  if (key.asymmetricKeyType === 'ed25519') return sign(null, text, key);
  const digest = `sha${/^[REP]S(384|512)$/.exec(algorithm)?.[1] ?? '256'}`;
  if (key.asymmetricKeyType === 'ec') return sign(digest, text, { key, dsaEncoding: 'ieee-p1363' });
  if (!algorithm.startsWith('PS')) return sign(digest, text, key);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return sign(digest, text, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
}

/** Sends a request with a valid API key and this Authorization header. Each call asks another operation. */
function ask(authorization: string): Promise<Reply> {
  requestCount += 1;
  const path = ALL_PATHS[requestCount % ALL_PATHS.length] ?? '';
  return world.get(path, { headers: { Authorization: authorization } });
}

/** Asserts that a token gets the usual 401, that the log has the reason, and that no part of the token is shown. */
async function expectRefused(authorization: string, reason: RefusalReason): Promise<void> {
  const reply = await ask(authorization);
  const hasOtherScheme = reason === 'scheme';
  const description = hasOtherScheme
    ? 'Authorization has another scheme than Bearer: send Bearer and an access token.'
    : 'Authorization contains no valid access token.';
  const error = hasOtherScheme ? '' : ', error="invalid_token"';
  expect(expectProblem(reply, 'invalid-credentials').issues).toEqual([
    { description, field: 'Authorization', location: 'header' },
  ]);
  expect(reply.headers.get('www-authenticate')).toBe(
    `ApiKey realm="order-lookup-services", header="Api-Key", Bearer realm="order-lookup-services"${error}`,
  );
  const requestId = reply.headers.get('x-request-id');
  const line = await world.service.waitForLog((each) => each['requestId'] === requestId);
  expect(line).toMatchObject({ credential: 'access_token', reason });
  const said = `${reply.text}${JSON.stringify([...reply.headers])}${world.service.output}`;
  for (const part of longPartsOf(authorization)) expect(said).not.toContain(part);
}

/** Returns header, claims and signature of a token, without short parts, which may occur in other texts by chance. */
function longPartsOf(authorization: string): string[] {
  return authorization.split(/[ .]/).filter(({ length }) => length >= 20);
}

describe('an access token is accepted', () => {
  // The interface document lets callers also send only the token
  it.each(['Bearer ', 'Bearer  ', 'bearer ', 'BEARER  ', ''])('after "%s"', async (scheme) => {
    expect((await ask(scheme + signed())).status).toBe(200);
  });

  const VARIANTS: Parts[] = [
    ...['JWT', 'application/at+jwt', undefined].map((typ) => ({ header: { typ } })),
    { header: { kid: undefined } },
    { header: { jku: addressElsewhere } },
    { header: { zip: 'NONE' } },
    { claims: { aud: ['https://other.example', AUDIENCE] } },
    { claims: { padding: 'x'.repeat(8_500) } }, // in Base64 the whole token has almost MAX_TOKEN_BYTES
    { claims: { iat: undefined, nbf: undefined } },
    { header: { typ: 'JWT' }, claims: { typ: 'Bearer', azp: 'x', nonce: 'n', scope: 'openid' } },
    ...[{ azp: 'x' }, { appid: 'x' }, { cid: 'x' }, { scope: 'x' }, { scope: ['x'] }, { scp: ['x'] }].map((other) => {
      return { header: { typ: 'JWT' }, claims: { client_id: undefined, ...other } };
    }),
    { header: { typ: 'application/AT+JWT' }, claims: { client_id: undefined } },
  ];
  it.each(titled(VARIANTS))('with $what', async ({ parts }) => {
    expect((await ask(`Bearer ${signed(parts)}`)).status).toBe(200);
  });

  it.each(['ES256', 'EdDSA'])('if it is signed with %s', async (alg) => {
    const { issuer } = world;
    expect((await ask(await issuer.createToken({ key: issuer.findKey(alg) }))).status).toBe(200);
  });

  it('if its iat is in the future', async () => {
    expect((await ask(signed({ claims: { iat: now() + 600 } }))).status).toBe(200);
  });

  it('if its nbf or exp is wrong by less than 30 s, because clocks differ', async () => {
    expect((await ask(signed({ claims: { nbf: now() + 20 } }))).status).toBe(200);
    // Each attempt makes a new token, because a slow machine may need more than the remaining ten seconds
    await until(async () => (await ask(signed({ claims: { exp: now() - 20 } }))).status === 200);
  });
});

describe('an access token is refused, and no issuer is asked:', () => {
  let fetchCount = 0;
  beforeAll(() => {
    fetchCount = world.issuer.jwksHits;
  });
  afterEach(() => {
    expect(world.issuer.jwksHits).toBe(fetchCount);
    expect(elsewhere.hits.size).toBe(0); // the headers of some tokens name this address
  });

  const withClaim = (name: string, values: unknown[]): Parts[] =>
    values.map((value) => ({ claims: { [name]: value } }));
  const withHeader = (name: string, values: unknown[]): Parts[] =>
    values.map((value) => ({ header: { [name]: value } }));
  const cutAudience = AUDIENCE.slice(0, -1);

  const withoutClientId = (values: object[]): Parts[] =>
    values.map((value) => ({ header: { typ: 'JWT' }, claims: { client_id: undefined, ...value } }));
  /** Returns four tokens that the stranger has signed. Each header shows in another way where the stranger's key is. */
  const withKeyOfStranger = (members: object): Parts[] =>
    [{ jku: addressElsewhere }, { x5u: addressElsewhere }, { jwk: stranger.jwk }, { x5c: ['MIIB'] }].map((place) => ({
      by: stranger,
      header: { ...members, ...place },
    }));

  /** Tokens with one fault each. All signatures are valid, unless the signature is the fault. */
  const FAULTS: Partial<Record<RefusalReason, Parts[]>> = {
    algorithm: withHeader('alg', ['none', 'None', 'NONE', 'nOnE', 'HS256', 'RS1', 'RSA-OAEP']),
    malformed: withHeader('alg', ['', undefined, 7, ['RS256'], { toString: 1 }]),
    'unknown-key': [
      ...withHeader('kid', ['../../etc/passwd', `' or 1=1 --`, 'x'.repeat(5_000), 7, ['rsa-1'], '', null]),
      ...withKeyOfStranger({ kid: 'stranger' }),
      { by: stranger },
    ],
    signature: [
      ...withKeyOfStranger({ kid: 'rsa-1' }),
      ...withKeyOfStranger({ kid: undefined }),
      { by: stranger, header: { kid: 'rsa-1' } },
      { by: stranger, header: { kid: undefined } },
      // The key could verify the tokens of these five algorithms, but the issuer publishes it only for RS256
      ...withHeader('alg', ['RS384', 'RS512', 'PS256', 'PS384', 'PS512']),
      { header: { kid: 'ec-1' } },
      { header: { alg: 'ES256', kid: 'ec-1' } },
    ],
    critical: [
      ...withHeader('crit', [[], ['urn:x'], ['b64']]),
      ...withHeader('b64', [true, false]),
      ...[true, false].map((b64) => ({ header: { b64, crit: ['b64'] } })),
    ],
    type: withHeader('typ', ['id_token', 'logout+jwt', 'dpop+jwt', 'rt+jwt', 'JOSE', 'secevent+jwt', 7]),
    'another-kind': [
      { header: { typ: 'JWT' }, claims: { at_hash: 'x', nonce: 'n' } },
      { header: { typ: 'JWT' }, claims: { nonce: 'n', azp: 'x', client_id: undefined } },
      ...withoutClientId([{}, { scope: ' ' }, { scope: [null] }, { scp: [] }, { client_id: '' }, { azp: null }]),
      ...withoutClientId([{ roles: ['lookups.read'] }]),
      ...withClaim('c_hash', ['x']),
      ...withClaim('events', [{ 'http://schemas.openid.net/event/backchannel-logout': {} }]),
      ...withClaim('typ', ['ID', 'Refresh', 'Offline', 'Logout']),
      ...withClaim('token_use', ['id', 'refresh']),
      ...withClaim('tok_type', ['IT', 'RT']),
      ...withClaim('tokenType', ['refresh-token']),
      ...withClaim('tokenName', ['id_token', 'refresh_token']),
      ...withClaim('type', ['refresh']),
      ...withClaim('granted_scopes', [['lookups.read']]),
      ...withClaim('ati', ['id of its access token']),
    ],
    'too-long': withClaim('padding', ['x'.repeat(9_200)]), // more than MAX_TOKEN_BYTES
    audience: [
      ...withClaim('aud', [undefined, '', cutAudience, `${AUDIENCE}/`, `${AUDIENCE}.evil`]),
      ...withClaim('aud', [AUDIENCE.toUpperCase()]),
      ...withClaim('aud', [[], ['other'], 7, null, 'client']),
    ],
    issuer: withClaim('iss', [undefined, 7, 'http://127.0.0.1']),
    'no-expiry': withClaim('exp', [undefined, null, '9999999999', 1e308, {}, true, { toString: 1 }]),
    expired: withClaim('exp', [-1, 1]),
    'not-before': withClaim('nbf', ['0', null]),
    claims: withClaim('iat', ['now', {}]), // every number is accepted
  };
  const ROWS = Object.entries(FAULTS).flatMap(([reason, rows]) =>
    titled(rows).map((row) => ({ ...row, reason: reason as RefusalReason })),
  );
  it.each(ROWS)('because of $reason: $what', async ({ reason, parts }) => {
    await expectRefused(`Bearer ${signed(parts)}`, reason);
  });

  it.each<{ name: string; reason: RefusalReason; token: () => string }>([
    { name: 'with an empty signature', reason: 'malformed', token: () => `${contentOf({})}.` },
    { name: 'of two parts', reason: 'not-a-jwt', token: () => contentOf({}) },
    {
      name: 'of five parts (JWE)',
      reason: 'not-a-jwt',
      token: () => `${encodePart({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`,
    },
    {
      name: 'that contains another token',
      reason: 'malformed',
      token: () => `${encodePart({ alg: 'RS256', cty: 'JWT', kid: 'rsa-1' })}.${encodeText(signed())}.x`,
    },
    {
      name: 'whose header is no JSON',
      reason: 'not-a-jwt',
      token: () => `${encodeText('not json')}.${encodeText('{}')}.x`,
    },
    {
      name: 'whose header is a list',
      reason: 'not-a-jwt',
      token: () => `${encodePart([])}.${encodeText('{}')}.x`,
    },
    { name: 'with an exclamation mark at its end', reason: 'malformed', token: () => `${signed()}!` },
    { name: 'with padding after its signature', reason: 'malformed', token: () => `${signed()}==` },
    {
      name: 'that is opaque',
      reason: 'not-a-jwt',
      token: () => 'ya29.a0AfB_byC-an-opaque-token-of-a-provider',
    },
    {
      name: 'whose iss has a slash at its end',
      reason: 'issuer',
      token: () => signed({ claims: { iss: `${world.issuer.url}/` } }),
    },
    {
      name: 'whose iss lacks its last character',
      reason: 'issuer',
      token: () => signed({ claims: { iss: world.issuer.url.slice(0, -1) } }),
    },
    { name: 'whose iss is a list', reason: 'issuer', token: () => signed({ claims: { iss: [world.issuer.url] } }) },
    {
      name: 'that expired 31 seconds ago',
      reason: 'expired',
      token: () => signed({ claims: { exp: now() - 31 } }),
    },
    {
      name: 'that becomes valid in ten minutes',
      reason: 'not-before',
      token: () => signed({ claims: { nbf: now() + 600 } }),
    },
    {
      name: 'with the algorithm and the signature of another key',
      reason: 'signature',
      token: () => signed({ by: world.issuer.findKey('ES256'), header: { alg: 'ES256', kid: 'rsa-1' } }),
    },
    { name: 'with a cut signature', reason: 'signature', token: () => signed().slice(0, -8) },
    {
      name: 'with the signature of another token',
      reason: 'signature',
      token: () => `${contentOf({})}.${signed({ claims: { jti: 'another' } }).split('.')[2]}`,
    },
  ])('because of $reason: a token $name', async ({ reason, token }) => {
    await expectRefused(`Bearer ${token()}`, reason);
  });

  it('if it has a MAC whose secret is the public key, in any encoding of the key', async () => {
    const { jwk } = world.issuer.signer;
    const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as CryptoKey);
    const der = Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    const modulus = Buffer.from(String(jwk.n), 'base64url');
    for (const secret of [pem, pem.trim(), JSON.stringify(jwk), String(jwk.n), '', der, modulus])
      for (const bits of ['256', '384', '512']) {
        const content = contentOf({ header: { alg: `HS${bits}` } });
        const mac = createHmac(`sha${bits}`, secret).update(content).digest('base64url');
        await expectRefused(`Bearer ${content}.${mac}`, 'algorithm');
      }
  });

  it.each(['Basic dXNlcjpwYXNz', 'Token abc', 'Digest username="x"', 'DPoP abc'])(
    'if the header has another scheme: %s',
    (authorization) => expectRefused(authorization, 'scheme'),
  );
});

it('if the issuer is away at the start, callers get 503, and no 401, until its keys are fetched', async () => {
  const { issuer } = world;
  issuer.fault = 'down';
  const service = await world.startReplica();
  const statusOf = async () => (await world.get(PATHS.orderUpdate, { service })).status;
  await service.waitForLog(({ msg, topic }) => msg === 'snapshot: loaded' && topic === 'keys');
  const reply = await world.get(PATHS.orderUpdate, { service });
  expectProblem(reply, 'cannot-verify-credentials');
  const line = await service.waitForLog(({ statusCode }) => statusCode === 503);
  expect(line).toMatchObject({ level: 'warn', credential: 'access_token', reason: 'no-signing-keys' });
  const secondsUntilRefusal = `order_lookup_seconds_until_refusal{what="signing-keys",issuer="${issuer.url}"}`;
  expect(await service.readMetric('order_lookup_jwks_keys')).toBe(0);
  expect(await service.readMetric(secondsUntilRefusal)).toBe(0);
  issuer.fault = 'none';
  await until(async () => (await statusOf()) === 200);
  expect(await service.fetchReadiness()).toMatchObject({ status: 200 });
  expect(await service.readMetric('order_lookup_jwks_keys')).toBe(3);
  expect(await service.readMetric(secondsUntilRefusal)).toBe(MAX_KEY_AGE_SECONDS);
});
