import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import * as client from 'openid-client';
import { startIssuer } from '../../src/demo/issuer.js';
import { AUDIENCE } from '../support/issuer.js';
import { ALL_PATHS } from '../support/paths.js';
import { freePort } from '../support/postgres-server.js';
import { World } from '../support/world.js';

const REDIRECT = 'http://127.0.0.1:3000/docs/oauth2-redirect.html';
const SCOPE = 'lookups.read';

let issuer: Server;
let url: string;
let world: World;

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const machine = { id: 'program', secret: 'tests-only' };
  const options = { url, host: '127.0.0.1', port, audience: AUDIENCE, scopes: SCOPE, machine };
  issuer = await startIssuer({ ...options, redirectUris: [REDIRECT] });
  const demanded = { OAUTH_TOKEN_TYPE: 'at+jwt', OAUTH_REQUIRED_SCOPE: SCOPE };
  world = await World.create({ OAUTH_ISSUER: url, ...demanded });
});
afterAll(async () => {
  await world?.close();
  issuer?.closeAllConnections();
  issuer?.close();
});

/** A person with a browser, as far as the sign-in needs one: follows redirects and keeps cookies. */
async function signIn(start: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let at = start;
  while (!at.href.startsWith(REDIRECT)) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    expect(response.status).toBe(303);
    at = new URL(response.headers.get('location') ?? '', at);
  }
  return at;
}

it('the authorization code grant with PKCE gives a token that opens all three operations', async () => {
  const execute = [client.allowInsecureRequests];
  const id = 'order-lookup-docs';
  const issuerUrl = new URL(url);
  const configuration = await client.discovery(issuerUrl, id, undefined, client.None(), {
    execute,
  });
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const address = client.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT,
    scope: SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  });
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const callback = await signIn(address);
  const granted = await client.authorizationCodeGrant(configuration, callback, checks);
  const headers = { Authorization: `Bearer ${granted.access_token}` };
  for (const path of ALL_PATHS) expect((await world.get(path, { headers })).status).toBe(200);
});
