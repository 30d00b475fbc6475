import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as client from 'openid-client';
import { type LocalIssuer, startIssuer } from '../../src/demo/issuer.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { issueKey } from '../support/keys.js';
import { freePort } from '../support/postgres-server.js';
import { RunningService, until } from '../support/service.js';
import { ALL_PATHS } from '../support/paths.js';

const AUDIENCE = 'https://orders.example';
const REDIRECT = 'http://127.0.0.1:3000/docs/oauth2-redirect.html';

let issuer: LocalIssuer;
let issuerUrl: string;
let database: TestDatabase;
let service: RunningService;

beforeAll(async () => {
  const port = await freePort();
  issuerUrl = `http://127.0.0.1:${port}`;
  issuer = await startIssuer({
    url: issuerUrl,
    host: '127.0.0.1',
    port,
    audience: AUDIENCE,
    scopes: 'lookups.read',
    redirectUris: [REDIRECT],
    machine: { id: 'program', secret: 'tests-only' },
  });
  database = await createDatabase();
  service = await RunningService.start({
    DATABASE_URL: database.urlOf('order_lookup_service'),
    OAUTH_ISSUER: issuerUrl,
    OAUTH_AUDIENCE: AUDIENCE,
    OAUTH_TOKEN_TYPE: 'at+jwt',
    OAUTH_REQUIRED_SCOPE: 'lookups.read',
  });
  await service.ready();
});

afterAll(async () => {
  await service?.kill();
  issuer?.close();
  await database?.drop();
});

/** A person with a browser, as far as the sign-in needs one: follows redirects and keeps cookies. */
async function signIn(start: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let at = start;
  for (let step = 0; step < 10; step++) {
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    at = new URL(response.headers.get('location') ?? '', at);
    if (at.href.startsWith(REDIRECT)) return at;
  }
  throw new Error(`the sign-in stopped at ${at.href}`);
}

const discover = (id: string, authentication: client.ClientAuth): Promise<client.Configuration> =>
  client.discovery(new URL(issuerUrl), id, undefined, authentication, {
    execute: [client.allowInsecureRequests],
  });

async function expectOpen(token: string): Promise<void> {
  const { key } = await issueKey(database);
  const headers = { 'Api-Key': key, Authorization: `Bearer ${token}` };
  for (const path of ALL_PATHS)
    await until(async () => (await fetch(service.url + path, { headers })).status === 200);
}

describe('the client credentials grant', () => {
  it('gives a token that opens all three operations', async () => {
    const configuration = await discover('program', client.ClientSecretBasic('tests-only'));
    const scope = 'lookups.read';
    await expectOpen((await client.clientCredentialsGrant(configuration, { scope })).access_token);
  });
});

describe('the authorization code grant with PKCE', () => {
  it('gives a token that opens all three operations', async () => {
    const configuration = await discover('order-lookup-docs', client.None());
    const verifier = client.randomPKCECodeVerifier();
    const state = client.randomState();
    const address = client.buildAuthorizationUrl(configuration, {
      redirect_uri: REDIRECT,
      scope: 'lookups.read',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
    });
    const callback = await signIn(address);
    const { access_token: token } = await client.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    await expectOpen(token);
  });

  it('is refused without PKCE', async () => {
    const response = await fetch(
      `${issuerUrl}/auth?client_id=order-lookup-docs&response_type=code&redirect_uri=${encodeURIComponent(REDIRECT)}`,
      { redirect: 'manual' },
    );
    expect(response.headers.get('location')).toContain('error=invalid_request');
  });
});
