import { KeyObject, createHmac, sign } from 'node:crypto';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type CryptoKey, exportSPKI, importJWK } from 'jose';
import { AUDIENCE, Issuer, type SigningKey, encodePart, signingKey } from '../support/issuer.js';
import { liftLimitsOfIssuers, slowMonotonicClock, useMachineClock } from '../support/local-clock.js';
import { localWorld } from '../support/local-world.js';
import { expectProblem } from '../support/problem.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import type { Reply } from '../support/exchange.js';
import { until } from '../support/until.js';

liftLimitsOfIssuers();
slowMonotonicClock();
const world = localWorld();
const stranger = await signingKey('RS256', 'stranger');
/** An issuer that is not ours: its key set holds the key of the stranger. */
const elsewhere = await Issuer.start();
elsewhere.published = [stranger.jwk];
const address = `${elsewhere.url}/jwks`;
let asked = 0;

afterAll(() => elsewhere.close());

/** What a token has that differs from a valid one; undefined leaves a member out. */
interface Parts {
  header?: Record<string, unknown>;
  claims?: Record<string, unknown>;
  by?: SigningKey;
}

/** Rows with titles: without keys, which differ from run to run, and without long texts. */
function titled(rows: readonly Parts[]): { readonly what: string; readonly parts: Parts }[] {
  const show = (name: string, value: unknown): unknown => {
    if (name === 'by' || name === 'jwk') return 'of the stranger';
    if (value === address) return 'elsewhere';
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
/** A token that its key has signed, whatever its header says. */
function signed(parts: Parts = {}): string {
  const { privateKey } = parts.by ?? world.issuer.signer;
  const content = contentOf(parts);
  return `${content}.${sign('sha256', Buffer.from(content), KeyObject.from(privateKey)).toString('base64url')}`;
}

/** Asks one of the operations, each in its turn. */
function ask(authorization: string): Promise<Reply> {
  asked += 1;
  const path = ALL_PATHS[asked % ALL_PATHS.length] ?? '';
  return world.get(path, { headers: { Authorization: authorization } });
}

/** A token that must be refused: always the same 401, and no byte of it anywhere. */
async function expectRefused(authorization: string, error = ', error="invalid_token"') {
  const reply = await ask(authorization);
  const description = error
    ? 'Authorization contains no valid access token.'
    : 'Authorization has another scheme than Bearer: send Bearer and an access token.';
  expect(expectProblem(reply, 'invalid-credentials').issues).toEqual([
    { description, field: 'Authorization', location: 'header' },
  ]);
  expect(reply.headers.get('www-authenticate')).toBe(
    `ApiKey realm="order-lookup-services", header="Api-Key", Bearer realm="order-lookup-services"${error}`,
  );
  const requestId = reply.headers.get('x-request-id');
  await world.service.waitForLog((line) => line['requestId'] === requestId);
  const said = `${reply.text}${JSON.stringify([...reply.headers])}${world.service.output}`;
  for (const part of longPartsOf(authorization)) expect(said).not.toContain(part);
}

/** Header, claims and signature: those that are long enough to be told from other words. */
function longPartsOf(authorization: string): string[] {
  return authorization.split(/[ .]/).filter(({ length }) => length >= 20);
}

describe('an access token is accepted', () => {
  it.each(['Bearer ', 'Bearer  ', 'bearer ', 'BEARER  ', ''])('after "%s"', async (scheme) => {
    expect((await ask(scheme + signed())).status).toBe(200);
  });

  const VARIANTS: Parts[] = [
    ...['JWT', 'application/at+jwt', undefined].map((typ) => ({ header: { typ } })),
    { header: { kid: undefined } },
    { header: { jku: address } },
    { header: { zip: 'NONE' } },
    { claims: { aud: ['https://other.example', AUDIENCE] } },
    { claims: { padding: 'x'.repeat(8_500) } },
    { claims: { iat: undefined, nbf: undefined } },
    { header: { typ: 'JWT' }, claims: { typ: 'Bearer', azp: 'x', nonce: 'n', scope: 'openid' } },
    ...[{ azp: 'x' }, { appid: 'x' }, { cid: 'x' }, { scope: 'x' }, { scope: ['x'] }, { scp: ['x'] }].map((other) => {
      return { header: { typ: 'JWT' }, claims: { client_id: undefined, ...other } };
    }),
    { header: { typ: 'application/AT+JWT' }, claims: { client_id: undefined } },
  ];
  it.each(titled(VARIANTS))('$what', async ({ parts }) => {
    expect((await ask(`Bearer ${signed(parts)}`)).status).toBe(200);
  });

  it('signed with ES256 or EdDSA, and within the skew of 30 s', async () => {
    const { issuer } = world;
    const tokens = [
      await issuer.token({ key: issuer.findKey('ES256') }),
      await issuer.token({ key: issuer.findKey('EdDSA') }),
    ];
    tokens.push(signed({ claims: { nbf: now() + 20 } }));
    tokens.push(signed({ claims: { iat: now() + 600 } }));
    for (const token of tokens) expect((await ask(token)).status).toBe(200);
    // Signed anew each time: the machine may have been away for the other ten seconds
    await until(async () => (await ask(signed({ claims: { exp: now() - 20 } }))).status === 200);
  });
});

describe('an access token is refused', () => {
  const claims = (name: string, values: unknown[]): Parts[] => values.map((value) => ({ claims: { [name]: value } }));
  const header = (name: string, values: unknown[]): Parts[] => values.map((value) => ({ header: { [name]: value } }));
  const cutAudience = AUDIENCE.slice(0, -1);

  const FAULTS: Parts[] = [
    ...header('alg', ['none', 'None', 'NONE', 'nOnE', '', undefined, 'HS256', 'RS1', 'RSA-OAEP']),
    ...header('alg', [7, ['RS256'], { toString: 1 }]),
    ...header('kid', ['../../etc/passwd', `' or 1=1 --`, 'x'.repeat(5_000), 7, ['rsa-1']]),
    ...header('kid', ['', null]),
    ...header('crit', [[], ['urn:x'], ['b64']]),
    ...header('b64', [true, false]),
    ...[true, false].map((b64) => ({ header: { b64, crit: ['b64'] } })),
    ...header('typ', ['id_token', 'logout+jwt', 'dpop+jwt', 'rt+jwt', 'JOSE', 'secevent+jwt', 7]),
    ...[{ kid: 'stranger' }, { kid: 'rsa-1' }, { kid: undefined }].flatMap((kid) => [
      { by: stranger, header: { ...kid, jku: address } },
      { by: stranger, header: { ...kid, x5u: address } },
      { by: stranger, header: { ...kid, jwk: stranger.jwk } },
      { by: stranger, header: { ...kid, x5c: ['MIIB'] } },
    ]),
    { header: { typ: 'JWT' }, claims: { at_hash: 'x', nonce: 'n' } },
    { header: { typ: 'JWT' }, claims: { nonce: 'n', azp: 'x', client_id: undefined } },
    ...[
      {},
      { scope: ' ' },
      { scope: [null] },
      { scp: [] },
      { client_id: '' },
      { azp: null },
      { roles: ['lookups.read'] },
    ].map((other) => {
      return { header: { typ: 'JWT' }, claims: { client_id: undefined, ...other } };
    }),
    ...claims('c_hash', ['x']),
    ...claims('events', [{ 'http://schemas.openid.net/event/backchannel-logout': {} }]),
    ...claims('typ', ['ID', 'Refresh', 'Offline', 'Logout']),
    ...claims('token_use', ['id', 'refresh']),
    ...claims('tok_type', ['IT', 'RT']),
    ...claims('tokenType', ['refresh-token']),
    ...claims('tokenName', ['id_token', 'refresh_token']),
    ...claims('type', ['refresh']),
    ...claims('granted_scopes', [['lookups.read']]),
    ...claims('ati', ['id of its access token']),
    ...claims('padding', ['x'.repeat(9_200)]),
    ...claims('aud', [undefined, '', cutAudience, `${AUDIENCE}/`, `${AUDIENCE}.evil`]),
    ...claims('aud', [AUDIENCE.toUpperCase()]),
    ...claims('aud', [[], ['other'], 7, null, 'client']),
    ...claims('iss', [undefined, 7, 'http://127.0.0.1']),
    ...claims('exp', [undefined, null, '9999999999', 1e308, -1, {}, true, 1, { toString: 1 }]),
    ...claims('nbf', ['0', null]),
    ...claims('iat', ['now', {}]), // any number is fine
  ];
  it.each(titled(FAULTS))('$what', async ({ parts }) => {
    await expectRefused(`Bearer ${signed(parts)}`);
  });

  it.each([
    { name: 'with an empty signature', token: () => `${contentOf({})}.` },
    { name: 'of two parts', token: () => contentOf({}) },
    {
      name: 'of five parts (JWE)',
      token: () => `${encodePart({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`,
    },
    {
      name: 'nested',
      token: () => `${encodePart({ alg: 'RS256', cty: 'JWT', kid: 'rsa-1' })}.${encodeText(signed())}.x`,
    },
    { name: 'that is no JSON', token: () => `${encodeText('not json')}.${encodeText('{}')}.x` },
    { name: 'whose header is a list', token: () => `${encodePart([])}.${encodeText('{}')}.x` },
    { name: 'with other characters', token: () => `${signed()}!` },
    { name: 'with padding behind its signature', token: () => `${signed()}==` },
    { name: 'that is opaque', token: () => 'ya29.a0AfB_byC-an-opaque-token-of-a-provider' },
    {
      name: 'of an issuer with a slash',
      token: () => signed({ claims: { iss: `${world.issuer.url}/` } }),
    },
    {
      name: 'of a prefix of the issuer',
      token: () => signed({ claims: { iss: world.issuer.url.slice(0, -1) } }),
    },
    { name: 'of a list of issuers', token: () => signed({ claims: { iss: [world.issuer.url] } }) },
    { name: 'expired 31 seconds ago', token: () => signed({ claims: { exp: now() - 31 } }) },
    {
      name: 'not valid for another ten minutes',
      token: () => signed({ claims: { nbf: now() + 600 } }),
    },
    ...['RS384', 'PS256', 'ES256', 'EdDSA'].map((alg) => ({
      name: `with the algorithm ${alg}`,
      token: () => signed({ header: { alg } }),
    })),
    { name: 'with the id of another key', token: () => signed({ header: { kid: 'ec-1' } }) },
    { name: 'of a stranger', token: () => signed({ by: stranger, header: { kid: 'rsa-1' } }) },
    { name: 'of a stranger, under another key id', token: () => signed({ by: stranger }) },
    { name: 'of a stranger, without a key id', token: () => signed({ by: stranger, header: { kid: undefined } }) },
    { name: 'with a cut signature', token: () => signed().slice(0, -8) },
    {
      name: 'with that of another token',
      token: () => `${contentOf({})}.${signed().split('.')[2]}`,
    },
  ])('$name', async ({ token }) => {
    await expectRefused(`Bearer ${token()}`);
  });

  it('keyed with our public key as a secret, in every encoding', async () => {
    const { jwk } = world.issuer.signer;
    const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as CryptoKey);
    const der = Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64');
    const n = Buffer.from(String(jwk.n), 'base64url');
    for (const secret of [pem, pem.trim(), JSON.stringify(jwk), String(jwk.n), '', der, n])
      for (const bits of ['256', '384', '512']) {
        const content = contentOf({ header: { alg: `HS${bits}` } });
        const mac = createHmac(`sha${bits}`, secret).update(content).digest('base64url');
        await expectRefused(`Bearer ${content}.${mac}`);
      }
  });

  it.each(['Basic dXNlcjpwYXNz', 'Token abc', 'Digest username="x"', 'DPoP abc'])(
    'under another scheme: %s',
    (authorization) => expectRefused(authorization, ''),
  );

  it('without a request to the addresses that a token names, and without a fetch', () => {
    expect(elsewhere.hits.size).toBe(0);
    expect(world.issuer.jwksHits).toBe(1);
  });
});

it('an issuer that is away at the start: nobody is refused, 503 until its keys are there', async () => {
  const { issuer } = world;
  issuer.fault = 'down';
  useMachineClock();
  const service = await world.start();
  const statusOf = async () => (await world.get(PATHS.orderUpdate, { service })).status;
  await service.waitForLog(({ msg, topic }) => msg === 'snapshot: loaded' && topic === 'keys');
  const reply = await world.get(PATHS.orderUpdate, { service });
  expectProblem(reply, 'cannot-verify-credentials');
  const line = await service.waitForLog(({ statusCode }) => statusCode === 503);
  expect(line).toMatchObject({ level: 'warn', credential: 'access_token', reason: 'no-signing-keys' });
  const left = `order_lookup_seconds_until_refusal{what="signing-keys",issuer="${issuer.url}"}`;
  expect(await service.metric('order_lookup_jwks_keys')).toBe(0);
  expect(await service.metric(left)).toBe(0);
  issuer.fault = 'none';
  await until(async () => (await statusOf()) === 200);
  expect(await service.readiness()).toMatchObject({ status: 200 });
  expect(await service.metric('order_lookup_jwks_keys')).toBe(3);
  expect(await service.metric(left)).toBeGreaterThan(86_000);
});
