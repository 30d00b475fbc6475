// Tests tokens like those of real identity providers. The test signs them, and publishes the keys over real HTTP.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { AUDIENCE, Issuer, encodePart, createSigningKey } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

/** Members of a header or of claims. null leaves a member out. */
type Members = Readonly<Record<string, unknown>>;
type Settings = Readonly<Record<string, string>>;

interface ProviderToken {
  readonly what: string;
  /** The expected outcome: `accepted`, or the reason of the refusal. */
  readonly outcome: string;
  readonly header?: Members;
  readonly claims: Members;
  /** Further settings of the service for this token. */
  readonly settings?: Settings;
}

interface Provider {
  /** The provider's name in the first column of docs/identity-providers.md. */
  readonly name: string;
  /** The settings of the service that docs/identity-providers.md names for this provider. */
  readonly settings: Settings;
  readonly tokens: readonly ProviderToken[];
}

const PROVIDERS = parse(readFileSync('test/auth/provider-tokens.yaml', 'utf8')) as Provider[];

let issuer: Issuer;
beforeAll(async () => {
  issuer = await Issuer.start();
  // A key for encryption and a second RS256 key are also published. So a token without a key id fits two keys
  const { kid: _kid, alg: _alg, ...encryptionKey } = (await createSigningKey('RS256', 'encryption')).jwk;
  const second = await createSigningKey('RS256', 'rsa-2');
  issuer.published.unshift({ ...encryptionKey, use: 'enc' }, second.jwk);
});
afterAll(() => issuer.close());
beforeEach(() => {
  Verifier.replaceClock();
  // The test's own issuer has an http address. A request over https would go to a real provider
  jest.spyOn(https, 'get').mockImplementation(() => {
    throw new Error('a real provider was asked');
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const withoutNull = (members: Members = {}): Members =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, value ?? undefined]));
const firstOf = (list = ''): string | undefined => list.split(/, */)[0] || undefined;

/** Verifies a token under these settings. Returns `accepted`, or the reason of the refusal. */
async function judge(token: string, settings: Settings): Promise<string> {
  const { OAUTH_ISSUER = '' } = settings;
  const OAUTH_JWKS_URI = OAUTH_ISSUER.replaceAll(/[^,]+/g, `${issuer.url}/jwks`);
  const configuration = readConfiguration({ DATABASE_URL: 'postgres://db/x', OAUTH_JWKS_URI, ...settings });
  const verifier = await new Verifier([issuer], configuration).start();
  const verdict = await verifier.verify(token);
  verifier.issuers.onApplicationShutdown();
  return verdict.outcome === 'accepted' ? 'accepted' : verdict.reason;
}

describe.each(PROVIDERS)('$name', ({ settings, tokens }) => {
  it.each(tokens)('$what: $outcome', async ({ outcome, header, claims, settings: furtherSettings }) => {
    const issuerAndAudience = { iss: firstOf(settings['OAUTH_ISSUER']), aud: firstOf(settings['OAUTH_AUDIENCE']) };
    const token = await issuer.createToken({
      header: { typ: 'JWT', ...withoutNull(header) },
      claims: { client_id: undefined, ...issuerAndAudience, ...withoutNull(claims) },
    });
    expect(await judge(token, { ...settings, ...furtherSettings })).toBe(outcome);
  });
});

const GROUP_ID = '5b9f0c1e-8f57-4d0e-9a55-0c9f6a0c7d11';
const ENTRA_ID = { OAUTH_ISSUER: 'https://login.microsoftonline.com/tenant/v2.0', OAUTH_AUDIENCE: AUDIENCE };

it.each([
  { count: 200, outcome: 'accepted' },
  { count: 400, outcome: 'too-long' },
])('a token of Entra ID with $count groups: $outcome', async ({ count, outcome }) => {
  const groups = Array.from({ length: count }, () => GROUP_ID);
  const token = await issuer.createToken({ claims: { iss: ENTRA_ID.OAUTH_ISSUER, groups } });
  expect(await judge(token, ENTRA_ID)).toBe(outcome);
});

it('a token of Entra ID for Microsoft Graph is refused: the hash of its nonce is signed, not the nonce', async () => {
  const nonce = 'nonce of the token';
  const signedNonce = createHash('sha256').update(nonce).digest('base64url');
  const signed = await issuer.createToken({ header: { nonce: signedNonce }, claims: { iss: ENTRA_ID.OAUTH_ISSUER } });
  const { kid, alg } = issuer.signer;
  const token = signed.replace(/^[^.]+/, encodePart({ alg, kid, typ: 'JWT', nonce }));
  expect(await judge(token, ENTRA_ID)).toBe('signature');
});

/** Finds `Okta` in the row `| Okta | … |`, but nothing in the head of the table. */
const PROVIDER_IN_ROW = /^\| (?!Provider)([^|-][^|]*) \|/gm;

it('docs/identity-providers.md and provider-tokens.yaml name the same providers', () => {
  const page = readFileSync('docs/identity-providers.md', 'utf8');
  const table = page.slice(page.indexOf('\n## Providers\n'), page.indexOf('\n## Several issuers\n'));
  const documented = Array.from(table.matchAll(PROVIDER_IN_ROW), ([, name]) => name);
  expect(new Set(documented)).toEqual(new Set(PROVIDERS.map(({ name }) => name)));
});
