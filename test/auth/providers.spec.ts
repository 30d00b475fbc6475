// The shapes that identity providers send: their configuration, a token, and what comes of it. Key sets over real HTTP.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { AUDIENCE, Issuer, signingKey } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

type Members = Readonly<Record<string, unknown>>;

/** What differs from a valid token without `client_id`; undefined leaves a member out. */
interface Shape {
  readonly provider: string;
  /** `accepted`, or the reason of the refusal. */
  readonly outcome: string;
  readonly variables?: Readonly<Record<string, string>>;
  readonly header?: Members;
  readonly claims: Members;
}

const groups = (count: number): string[] => Array.from({ length: count }, () => '-1e8f-57d0-9a55-0c9f6a0c7d11-id');

const SHAPES: readonly Shape[] = [
  {
    provider: 'Entra ID v1, person',
    outcome: 'accepted',
    variables: { OAUTH_AUDIENCE: 'api://lookups, https://orders.example' },
    header: { typ: 'JWT' },
    claims: {
      iss: 'https://sts.windows.net/tenant/',
      aud: 'api://lookups',
      appid: 'portal',
      scp: 'lookups.read',
      ver: '1.0',
    },
  },
  {
    provider: 'Entra ID v2, person',
    outcome: 'accepted',
    variables: {
      OAUTH_AUDIENCE: 'api://lookups, https://orders.example',
      OAUTH_REQUIRED_SCOPE: 'lookups.read',
    },
    header: { typ: 'JWT' },
    claims: {
      iss: 'https://login.microsoftonline.com/tenant/v2.0',
      azp: 'portal',
      scp: 'openid lookups.read',
      ver: '2.0',
    },
  },
  {
    provider: 'Entra ID, program with the role',
    outcome: 'accepted',
    variables: { OAUTH_REQUIRED_SCOPE: 'Lookups.Read' },
    header: { typ: 'JWT' },
    claims: {
      iss: 'https://login.microsoftonline.com/tenant/v2.0',
      azp: 'batch',
      roles: ['Other', 'Lookups.Read'],
    },
  },
  {
    provider: 'Entra ID, program without',
    outcome: 'scope',
    variables: { OAUTH_REQUIRED_SCOPE: 'Lookups.Read' },
    header: { typ: 'JWT' },
    claims: { iss: 'https://login.microsoftonline.com/tenant/v2.0', azp: 'batch' },
  },
  {
    provider: 'Entra ID v1, program of another team',
    outcome: 'client',
    variables: { OAUTH_CLIENTS: 'batch,portal' },
    header: { typ: 'JWT' },
    claims: { iss: 'https://sts.windows.net/tenant/', appid: 'another' },
  },
  {
    provider: 'Entra ID, 200 groups',
    outcome: 'accepted',
    header: { typ: 'JWT' },
    claims: {
      iss: 'https://login.microsoftonline.com/tenant/v2.0',
      azp: 'portal',
      groups: groups(200),
    },
  },
  {
    provider: 'Entra ID, more groups',
    outcome: 'too-long',
    header: { typ: 'JWT' },
    claims: {
      iss: 'https://login.microsoftonline.com/tenant/v2.0',
      azp: 'portal',
      groups: groups(400),
    },
  },
  {
    provider: 'Okta',
    outcome: 'accepted',
    variables: { OAUTH_REQUIRED_SCOPE: 'lookups.read', OAUTH_CLIENTS: 'batch,portal' },
    claims: {
      iss: 'https://example.okta.com/oauth2/default',
      cid: 'batch',
      uid: 'x',
      scp: ['lookups.read'],
    },
  },
  {
    provider: 'Okta, another client',
    outcome: 'client',
    variables: { OAUTH_CLIENTS: 'batch,portal' },
    claims: { iss: 'https://example.okta.com/oauth2/default', cid: 'another' },
  },
  {
    provider: 'Auth0, scope',
    outcome: 'accepted',
    variables: { OAUTH_REQUIRED_SCOPE: 'lookups.read' },
    header: { typ: 'JWT' },
    claims: {
      iss: 'https://example.eu.auth0.com/',
      aud: ['https://orders.example', 'https://example.eu.auth0.com/userinfo'],
      azp: 'portal',
      scope: 'openid lookups.read',
    },
  },
  {
    provider: 'Auth0, permissions',
    outcome: 'accepted',
    variables: { OAUTH_REQUIRED_SCOPE: 'lookups.read' },
    header: { typ: 'at+jwt' },
    claims: {
      iss: 'https://example.eu.auth0.com/',
      azp: 'batch',
      gty: 'client-credentials',
      scope: '',
      permissions: ['lookups.read'],
    },
  },
  {
    provider: 'Amazon Cognito',
    outcome: 'accepted',
    variables: {
      OAUTH_CLIENTS: 'batch,portal',
      OAUTH_AUDIENCE: '',
      OAUTH_REQUIRED_SCOPE: 'orders/lookups.read',
    },
    claims: {
      iss: 'https://cognito-idp.eu-west-1.amazonaws.com/pool',
      aud: undefined,
      client_id: 'batch',
      token_use: 'access',
      scope: 'orders/lookups.read',
    },
  },
  {
    provider: 'Amazon Cognito, another client',
    outcome: 'client',
    variables: { OAUTH_CLIENTS: 'batch,portal', OAUTH_AUDIENCE: '' },
    claims: {
      iss: 'https://cognito-idp.eu-west-1.amazonaws.com/pool',
      aud: undefined,
      client_id: 'another',
      token_use: 'access',
    },
  },
  {
    provider: 'Amazon Cognito, ID token',
    outcome: 'another-kind',
    variables: { OAUTH_CLIENTS: 'batch,portal', OAUTH_AUDIENCE: '' },
    claims: {
      iss: 'https://cognito-idp.eu-west-1.amazonaws.com/pool',
      aud: 'batch',
      token_use: 'id',
    },
  },
  {
    provider: 'AD FS',
    outcome: 'accepted',
    header: { typ: 'JWT' },
    claims: {
      iss: 'http://adfs.example.com/adfs/services/trust',
      appid: 'portal',
      apptype: 'Public',
      scp: 'openid',
    },
  },
  {
    provider: 'PingFederate',
    outcome: 'accepted',
    variables: { OAUTH_REQUIRED_SCOPE: 'lookups.read' },
    header: { 'pi.atm': '1' },
    claims: { iss: 'https://ping.example.com', client_id: 'batch', scope: ['lookups.read'] },
  },
  {
    provider: 'PingOne',
    outcome: 'accepted',
    variables: { OAUTH_REQUIRED_SCOPE: 'lookups.read' },
    header: { typ: 'JWT' },
    claims: {
      iss: 'https://auth.pingone.eu/env/as',
      aud: ['https://orders.example'],
      client_id: 'batch',
      scope: 'lookups.read',
    },
  },
  {
    provider: 'Keycloak',
    outcome: 'accepted',
    variables: { OAUTH_REQUIRED_SCOPE: 'lookups-reader' },
    header: { typ: 'JWT' },
    claims: {
      aud: ['account', 'https://orders.example'],
      typ: 'Bearer',
      azp: 'portal',
      nonce: 'n',
      scope: 'openid',
      roles: ['lookups-reader'],
    },
  },
  {
    provider: 'Keycloak, ID token',
    outcome: 'another-kind',
    header: { typ: 'JWT' },
    claims: { typ: 'ID', azp: 'portal', at_hash: 'x' },
  },
];

let issuer: Issuer;
beforeAll(async () => {
  issuer = await Issuer.start();
  const { kid: _kid, alg: _alg, ...encryption } = (await signingKey('RS256', 'encryption')).jwk;
  const second = await signingKey('RS256', 'rsa-2');
  issuer.published.unshift({ ...encryption, use: 'enc' }, second.jwk);
});
afterAll(() => issuer.close());
beforeEach(() => {
  Verifier.turnClock();
  const { fetch: ask } = globalThis;
  // The metadata of real providers are not asked for
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (address, options) => {
    const isOurs = typeof address === 'string' && address.startsWith(issuer.url);
    if (!isOurs) throw new Error('only the issuer of the test is asked');
    return ask(address, options);
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

it.each(SHAPES)('$provider: $outcome', async ({ outcome, variables, header, claims }) => {
  const name = claims['iss'];
  const configuration = readConfiguration({
    DATABASE_URL: 'postgres://db/x',
    OAUTH_ISSUER: typeof name === 'string' ? name : issuer.url,
    OAUTH_JWKS_URI: typeof name === 'string' ? `${issuer.url}/jwks` : '',
    OAUTH_AUDIENCE: AUDIENCE,
    ...variables,
  });
  const verifier = await new Verifier([issuer], configuration).start();
  const token = await issuer.token({
    header: { typ: undefined, ...header },
    claims: { client_id: undefined, ...claims },
  });
  const verdict = await verifier.verify(token);
  expect(verdict.outcome === 'accepted' ? 'accepted' : verdict.reason).toBe(outcome);
  verifier.issuers.onApplicationShutdown();
});
