import { afterAll, expect, it } from '@jest/globals';
import { Issuer } from '../../../test/support/issuer.js';
import { readConfiguration } from '../../configuration/read-configuration.js';
import { examineAccessToken } from './access-token.js';

const issuer = await Issuer.start();
afterAll(() => issuer.close());

const examined = (text: string, environment: Record<string, string> = {}) =>
  examineAccessToken(
    text,
    readConfiguration({
      DATABASE_URL: 'postgres://a:b@127.0.0.1/x',
      ...issuer.environment,
      ...environment,
    }),
  );
const part = (text: string) => Buffer.from(text).toString('base64url');

it.each([
  { what: 'the algorithm', token: { header: { alg: 'none' } }, remedy: /sign access tokens by/ },
  { what: 'the type', token: { header: { typ: 'id+jwt' } }, remedy: /typ at\+jwt, JWT or none/ },
  { what: 'the expiry', token: { claims: { exp: 'soon' } }, remedy: /write when it expires/ },
  { what: 'the kind', token: { claims: { token_use: 'id' } }, remedy: /Send the access token/ },
  { what: 'crit', token: { header: { crit: [] } }, remedy: /leave crit and b64 out/ },
])('has a remedy against $what', async ({ token, remedy }) => {
  const claims = { iss: issuer.url, aud: 'x', exp: 4e9, ...token.claims };
  const header = { alg: 'RS256', ...token.header };
  const text = [part(JSON.stringify(header)), part(JSON.stringify(claims)), part('x')].join('.');
  const finding = await examined(text, { OAUTH_AUDIENCE: 'x' });
  expect(finding).toMatchObject({ state: 'fault', remedy: expect.stringMatching(remedy) });
});

it('shows header and claims apart, so that neither hides the other', async () => {
  const text = await issuer.token({ claims: { typ: 'ID', token_use: 'id', sub: 'person' } });
  const { text: shown } = await examined(text);
  expect(shown).toMatch(/"header":\{"alg":"RS256",.*\},"claims":\{.*"typ":"ID","token_use":"id"/);
  expect(shown).not.toContain('person');
});

it('says that three parts are no JSON, and not that three are needed', async () => {
  expect(await examined('a.b.c')).toMatchObject({
    state: 'fault',
    text: 'its header or its claims are not JSON in base64url, as a JWT has it',
  });
});

it('warns where the signature could not be checked, after it has looked at the scope', async () => {
  const text = await issuer.token();
  issuer.fault = 'down';
  expect(await examined(text)).toMatchObject({
    state: 'warning',
    text: expect.stringContaining('was not checked'),
  });
  expect(await examined(text, { OAUTH_REQUIRED_SCOPE: 'lookups.read' })).toMatchObject({
    state: 'fault',
    text: 'it lacks the scope lookups.read: 403',
    remedy: expect.stringContaining('grant lookups.read'),
  });
  issuer.fault = 'none';
});
