// An OAuth 2.0 server for development: authorization code grant with PKCE for persons, client credentials grant for
// programs, JWT access tokens (RFC 9068) for our audience. Whoever reaches it is signed in as the demo user, without a
// question: it is only for this machine and for tests.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type Server, createServer } from 'node:http';
import { type JWK, exportJWK, generateKeyPair } from 'jose';
import type { Provider } from 'oidc-provider';
import { StartError } from '../configuration/start-error.js';
import { readKeptObject, writeKept } from './kept-files.js';

const TOKEN_SECONDS = 8 * 3600;
const LASTING = 'AccessToken ClientCredentials Session Grant Interaction IdToken'.split(' ');
const ACCOUNT = 'demo-user';
const PUBLIC = { token_endpoint_auth_method: 'none' } as const;
/** Metadata of a client for programs. That for persons is public, and uses the authorization code grant by default. */
const OF_PROGRAM = { redirect_uris: [], grant_types: ['client_credentials'], response_types: [] };

interface IssuerOptions {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly audience: string;
  readonly scopes: string;
  readonly redirectUris: readonly string[];
  /** Keeps the signing key, so that tokens remain valid after a restart. Without it each start makes a new one. */
  readonly keyFile?: string;
  /** A client that gets tokens by the client credentials grant. */
  readonly machine: { readonly id: string; readonly secret: string };
}

export async function startIssuer(options: IssuerOptions): Promise<Server> {
  const { host, port } = options;
  const provider = await providerOf(options);
  const answer = provider.callback();
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) void answer(request, response);
    else
      provider
        .interactionFinished(request, response, { login: { accountId: ACCOUNT } })
        .catch(() => response.writeHead(400).end('This sign-in is over. Sign in again.'));
  });
  server.listen(port, host);
  await once(server, 'listening').catch(() => {
    throw new StartError(
      `The issuer cannot listen on port ${port}: stop the program that has it, or set ISSUER_PORT to another port.`,
    );
  });
  return server;
}

async function providerOf(options: IssuerOptions): Promise<Provider> {
  const { url, audience, scopes, redirectUris, machine, keyFile } = options;
  const { warn } = console;
  console.warn = () => undefined; // that data is kept in memory, and which versions of Node.js its authors support
  const { Provider: OidcProvider } = await import('oidc-provider');
  const provider: Provider = new OidcProvider(url, {
    clients: [
      { client_id: 'order-lookup-docs', redirect_uris: [...redirectUris], ...PUBLIC },
      { client_id: machine.id, client_secret: machine.secret, ...OF_PROGRAM },
    ],
    jwks: { keys: [await signingKey(keyFile)] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    pkce: { required: () => true },
    clientBasedCORS: () => true,
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: Object.fromEntries(LASTING.map((name) => [name, TOKEN_SECONDS])),
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({ clientId: oidc.client?.clientId, accountId: ACCOUNT });
      grant.addOIDCScope(`openid ${scopes}`.trim());
      grant.addResourceScope(audience, scopes);
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          audience,
          scope: scopes,
          accessTokenFormat: 'jwt',
          accessTokenTTL: TOKEN_SECONDS,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  console.warn = warn;
  return provider;
}

async function signingKey(file: string | undefined): Promise<JWK> {
  const kept = file ? readKeptObject(file) : undefined;
  if (kept && typeof kept['kty'] === 'string' && typeof kept['d'] === 'string') return kept;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256' };
  if (file) writeKept(file, JSON.stringify(key));
  return key;
}
