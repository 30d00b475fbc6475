import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import { Issuer, createSigningKey, encodePart } from '../../../test/support/issuer.js';
import { MAX_TOKEN_BYTES } from '../../auth/access-token.js';
import { readConfiguration } from '../../configuration/read-configuration.js';
import { withReading } from '../cli/connection.js';
import { IssuerKeys, checkAccessToken, checkApiKey } from './refused-credentials.js';

const issuer = await Issuer.start();
const { published } = issuer;
beforeEach(() => {
  issuer.fault = 'none';
  issuer.published = published;
});
afterAll(() => issuer.close());

const environment = { DATABASE_URL: 'postgres://a:b@127.0.0.1/x', ...issuer.environment };
const configuration = readConfiguration(environment);
const withClients = readConfiguration({ ...environment, OAUTH_CLIENTS: 'tests' });
const checkToken = (text: string) => checkAccessToken(text, configuration);

const inHours = (hours: number): number => Math.floor(Date.now() / 1000) + hours * 3_600;

it.each([
  {
    what: 'its length',
    token: { claims: { groups: 'g'.repeat(MAX_TOKEN_BYTES) } },
    remedy: /put less into the token, such as fewer groups/,
  },
  {
    what: 'crit in its header',
    token: { header: { crit: ['b64'], b64: true } },
    remedy: /leave crit and b64 out of the header/,
  },
  { what: 'its type', token: { header: { typ: 'id+jwt' } }, remedy: /typ at\+jwt, JWT or none.*OAUTH_TOKEN_TYPE/ },
  {
    what: 'its issuer',
    token: { claims: { iss: 'https://other.example' } },
    remedy: /add the exact iss of this token to OAUTH_ISSUER\.$/,
  },
  {
    what: 'its audience',
    token: { claims: { aud: 'https://other.example' } },
    remedy: /an access token of OAUTH_AUDIENCE/,
  },
  {
    what: 'its client',
    token: { claims: { client_id: 'other' } },
    remedy: /If this client may call, add it to OAUTH_CLIENTS\.$/,
  },
  {
    what: 'being an ID token',
    token: { claims: { token_use: 'id' } },
    remedy: /send the access token that the issuer gave with it/,
  },
  {
    what: 'a missing client',
    token: { header: { typ: 'JWT' }, claims: { client_id: undefined } },
    remedy: /names neither its client nor a scope: docs\/identity-providers\.md says/,
  },
  {
    what: 'a missing expiry',
    token: { claims: { exp: undefined } },
    remedy: /when it expires \(exp, in seconds since 1970\)/,
  },
  {
    what: 'an expiry in the past',
    token: { claims: { exp: inHours(-1) } },
    remedy: /another token\. .* see the line "clock"\.$/,
  },
  {
    what: 'a beginning in the future',
    token: { claims: { nbf: inHours(1) } },
    remedy: /Correct the clock of this machine .* or .* the issuer/,
  },
])('has a remedy for a token that is refused for $what', async ({ token, remedy }) => {
  const result = await checkAccessToken(await issuer.createToken(token), withClients);
  expect(result).toMatchObject({ state: 'fault', remedy: expect.stringMatching(remedy) });
});

it.each([
  {
    what: 'its algorithm is not accepted',
    header: { alg: 'HS256' },
    remedy: /access tokens by one of RS256, .*, Ed25519\.$/,
  },
  { what: 'its key is not published', header: { kid: 'unknown' }, remedy: /key may have been withdrawn\.$/ },
  {
    what: 'the published key does not verify its signature',
    header: {},
    remedy: /scope of your own API\. If use, key_ops or alg of .* correct the key\.$/,
  },
])('has a remedy for a token if $what', async ({ header, remedy }) => {
  const unpublishedKey = await createSigningKey('RS256', 'rsa-1'); // the issuer publishes another key of this id
  const { alg, kid } = unpublishedKey;
  const [, claims, signature] = (await issuer.createToken({ key: unpublishedKey })).split('.');
  const text = [encodePart({ alg, kid, typ: 'at+jwt', ...header }), claims, signature].join('.');
  expect(await checkToken(text)).toMatchObject({ state: 'fault', remedy: expect.stringMatching(remedy) });
});

it('shows the published key of a token if this key cannot verify the token', async () => {
  issuer.published = published.map((key) => ({ ...key, use: 'enc', key_ops: ['encrypt'] }));
  expect(await checkToken(await issuer.createToken())).toMatchObject({
    state: 'fault',
    text: expect.stringContaining(
      'published as [{"kid":"rsa-1","kty":"RSA","use":"enc","key_ops":["encrypt"],"alg":"RS256"}]',
    ),
    remedy: expect.stringContaining("the issuer's team has to correct the key"),
  });
});

it('shows header and claims separately, because both may have a member with the same name', async () => {
  const text = await issuer.createToken({ claims: { typ: 'ID', token_use: 'id', sub: 'person' } });
  const { text: shown } = await checkToken(text);
  expect(shown).toMatch(/"header":\{"alg":"RS256",.*\},"claims":\{.*"typ":"ID","token_use":"id"/);
  expect(shown).not.toContain('person');
});

it('shows the members of a refused token that may explain the refusal, and no member that names a person', async () => {
  const claims = { azp: 'a', appid: 'b', cid: 'c', scope: 's', scp: 't', typ: 'ID', token_use: 'id', nbf: 1 };
  const text = await issuer.createToken({ header: { nonce: 'n' }, claims: { ...claims, sub: 'person', email: 'x@y' } });
  const { text: shown } = await checkToken(text);
  const members = JSON.parse(shown.slice(shown.indexOf('{'))) as Record<'header' | 'claims', object>;
  expect(new Set(Object.keys(members.header))).toEqual(new Set(['alg', 'typ', 'kid', 'nonce']));
  const shownClaims = ['iss', 'aud', 'client_id', 'iat', 'exp', ...Object.keys(claims)];
  expect(new Set(Object.keys(members.claims))).toEqual(new Set(shownClaims));
});

it('shows at most 500 characters of the members, because a list of scopes may have any length', async () => {
  const text = await issuer.createToken({ claims: { token_use: 'id', scope: 's'.repeat(5_000) } });
  const { text: shown } = await checkToken(text);
  expect(shown.slice(shown.indexOf('{'))).toHaveLength(500);
});

describe('a token that is no JWT', () => {
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  const encrypted = [encode('{"alg":"RSA-OAEP","enc":"A256GCM"}'), 'a', 'b', 'c', 'd'].join('.');

  it.each([
    {
      kind: 'opaque',
      text: '2YotnFZFEjr1zCsicMWpAA',
      sentence: /opaque, not a JWT/,
      remedy: /Auth0: name the audience/,
    },
    { kind: 'opaque, with a dot', text: 'ya29.a0AfH6SMBx', sentence: /opaque, not a JWT/, remedy: /Okta: ask / },
    { kind: 'encrypted', text: encrypted, sentence: /encrypted \(JWE\)/, remedy: /Auth0: switch .*Okta: .*Keycloak/ },
  ])('gets a remedy that names providers: $kind', async ({ text, sentence, remedy }) => {
    expect(await checkToken(text)).toEqual({
      state: 'fault',
      text: expect.stringMatching(sentence),
      remedy: expect.stringMatching(remedy),
    });
  });

  it('gets a remedy for tokens beside that for keys, if somebody gives it as an API key', async () => {
    const database = await createDatabase();
    const result = await withReading((session) => checkApiKey(session, '2YotnFZFEjr1zCsicMWpAA'), {
      DATABASE_URL: database.url,
    });
    expect(result).toMatchObject({
      state: 'fault',
      text: 'it is not in this database',
      remedy: expect.stringMatching(/If it is an access token, only its issuer can read it\. Auth0: /),
    });
    await database.drop();
  });
});

it('says that a text is a JWT that was cut', async () => {
  const text = await issuer.createToken();
  expect(await checkToken(text.slice(0, text.lastIndexOf('.') - 5))).toMatchObject({
    state: 'fault',
    text: 'it is a JWT that was cut',
  });
});

it('warns if the signature could not be checked', async () => {
  const text = await issuer.createToken();
  issuer.fault = 'down';
  expect(await checkToken(text)).toMatchObject({
    state: 'warning',
    text: expect.stringContaining('was not checked'),
  });
});

it('asks an issuer once for several tokens, whether the issuer answers or not', async () => {
  for (const fault of ['none', 'down'] as const) {
    issuer.fault = fault;
    issuer.hits.clear();
    const issuerKeys = new IssuerKeys(configuration);
    for (let count = 1; count <= 2; count++)
      await checkAccessToken(await issuer.createToken(), configuration, issuerKeys);
    expect(issuer.hits.get('/.well-known/openid-configuration')).toBe(1);
  }
});
