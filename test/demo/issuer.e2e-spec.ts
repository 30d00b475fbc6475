// Runs the local issuer in its own process, as docker-compose does: `node dist/demo/issuer-main.js`.
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type JSONWebKeySet, createLocalJWKSet, jwtVerify } from 'jose';
import { fetchReply } from '../support/exchange.js';
import { findFreePort } from '../support/ports.js';
import { type RunningProgram, PROJECT, endOf, run, startProgram } from '../support/program.js';
import { until } from '../support/until.js';

const AUDIENCE = 'https://orders.development.example';
const PAGE = 'http://127.0.0.1:3000/docs/oauth2-redirect.html';
const SCOPE = 'lookups.read';
const EIGHT_HOURS_SECONDS = 8 * 3_600;
/** A sign-in takes six redirects. An issuer that asks for consent again and again would redirect for ever. */
const MAX_REDIRECTS = 20;
/** The code verifier and the code challenge of RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

let environment: Record<string, string>;
let url: string;
let issuer: RunningProgram;
beforeAll(async () => {
  const port = await findFreePort();
  url = `http://127.0.0.1:${port}`;
  environment = {
    ISSUER_URL: url,
    ISSUER_PORT: String(port),
    ISSUER_AUDIENCE: AUDIENCE,
    ISSUER_SCOPES: SCOPE,
    ISSUER_REDIRECT_URIS: PAGE,
    ISSUER_CLIENT_ID: 'program',
    ISSUER_CLIENT_SECRET: 'tests-only',
  };
  issuer = startProgram([process.execPath, 'dist/demo/issuer-main.js'], PROJECT, environment);
  const listens = `the issuer listens on port ${port}\n`;
  await until(async () => issuer.output.stdout === listens || hasEnded(issuer.child));
  const { stdout, stderr } = issuer.output;
  expect({ stdout, stderr }).toEqual({ stdout: listens, stderr }); // so that a failure shows what the issuer printed
});
afterAll(() => void issuer.child.kill('SIGKILL'));

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function postForm(form: Record<string, string>, headers: Record<string, string> = {}): Promise<unknown> {
  const { text } = await fetchReply(`${url}/token`, { method: 'POST', headers, body: new URLSearchParams(form) });
  return JSON.parse(text);
}

/** Verifies the access token of this answer. Returns its claims, and its lifetime as `seconds`. */
async function readToken(answer: unknown): Promise<Record<string, unknown>> {
  const { access_token: token } = answer as { access_token?: string };
  if (token === undefined) throw new Error(`no access token: ${JSON.stringify(answer)}`);
  const keySet = JSON.parse((await fetchReply(`${url}/jwks`)).text) as JSONWebKeySet;
  const { payload } = await jwtVerify(token, createLocalJWKSet(keySet), { issuer: url, audience: AUDIENCE });
  const { iat = NaN, exp = NaN } = payload;
  return { ...payload, seconds: exp - iat };
}

/** Follows redirects as a browser does, with cookies, until an address begins with `end`. Returns that address. */
async function followRedirects(start: string, end: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let address = start;
  for (let count = 0; !address.startsWith(end); count++) {
    if (count > MAX_REDIRECTS) throw new Error(`more than ${MAX_REDIRECTS} redirects, the last to ${address}`);
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetchReply(address, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${address}: ${response.status} ${response.text}`);
    address = new URL(location, address).href;
  }
  return new URL(address);
}

describe('the local issuer', () => {
  it('gives a program an access token for our audience', async () => {
    const Authorization = `Basic ${Buffer.from('program:tests-only').toString('base64')}`;
    const answer = await postForm({ grant_type: 'client_credentials', scope: SCOPE }, { Authorization });
    const seconds = EIGHT_HOURS_SECONDS;
    expect(await readToken(answer)).toMatchObject({ client_id: 'program', aud: AUDIENCE, scope: SCOPE, seconds });
  });

  it('signs a person in, and gives the page an access token for our audience', async () => {
    const query = new URLSearchParams({
      client_id: 'order-lookup-docs',
      redirect_uri: PAGE,
      response_type: 'code',
      scope: `openid ${SCOPE}`,
      state: 'of the page',
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
    });
    const { searchParams } = await followRedirects(`${url}/auth?${query.toString()}`, PAGE);
    expect(Object.fromEntries(searchParams)).toEqual({ code: expect.any(String), state: 'of the page', iss: url });
    const answer = await postForm({
      grant_type: 'authorization_code',
      client_id: 'order-lookup-docs',
      redirect_uri: PAGE,
      code: String(searchParams.get('code')),
      code_verifier: VERIFIER,
    });
    expect(await readToken(answer)).toMatchObject({
      sub: 'demo-user',
      client_id: 'order-lookup-docs',
      scope: SCOPE,
      seconds: EIGHT_HOURS_SECONDS,
    });
  });

  it('lets a page of any address ask for a token', async () => {
    const origin = 'http://another.example:3000';
    const body = new URLSearchParams({ grant_type: 'authorization_code', client_id: 'order-lookup-docs', code: 'x' });
    const response = await fetchReply(`${url}/token`, { method: 'POST', headers: { origin }, body });
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
  });

  it('refuses a program with a wrong secret', async () => {
    const Authorization = `Basic ${Buffer.from('program:wrong').toString('base64')}`;
    const answer = await postForm({ grant_type: 'client_credentials' }, { Authorization });
    expect(answer).toMatchObject({ error: 'invalid_client' });
  });

  it('refuses a sign-in without a code challenge (PKCE)', async () => {
    const query = new URLSearchParams({
      client_id: 'order-lookup-docs',
      redirect_uri: PAGE,
      response_type: 'code',
      scope: 'openid',
    });
    const { searchParams } = await followRedirects(`${url}/auth?${query.toString()}`, PAGE);
    expect(searchParams.get('error_description')).toContain('PKCE');
  });

  it('says in a page that a sign-in is over', async () => {
    const { status, text } = await fetchReply(`${url}/interaction/unknown`);
    expect([status, text]).toEqual([400, 'This sign-in is over. Sign in again.']);
  });

  it.each(['ISSUER_PORT', 'ISSUER_URL', 'ISSUER_AUDIENCE', 'ISSUER_CLIENT_ID', 'ISSUER_CLIENT_SECRET'])(
    'names %s if it is not set, and ends with status 1',
    async (name) => {
      expect(await run('demo/issuer-main.js', [], { ...environment, [name]: '' })).toMatchObject({
        status: 1,
        stderr: `${name} of the demo's issuer is not set: see docker-compose.yml.\n`,
      });
    },
  );

  // Must be the last test, because it ends the issuer of all tests
  it('ends with status 0 after SIGTERM', async () => {
    issuer.child.kill('SIGTERM');
    expect((await endOf(issuer)).status).toBe(0);
  });
});
