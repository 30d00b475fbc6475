// DANGER: this OAuth 2.0 server signs in everybody without a question. Use it only on this machine and in tests.
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { type JWK, exportJWK, generateKeyPair } from 'jose';
import type { Provider } from 'oidc-provider';

const TOKEN_SECONDS = 8 * 3600;
/** oidc-provider's names for tokens and sessions. All of them are valid for TOKEN_SECONDS. */
const LIMITED_TYPES = 'AccessToken ClientCredentials Session Grant Interaction IdToken'.split(' ');
const ACCOUNT = 'demo-user';
/** The kind `native` allows any port in a redirect to this machine (RFC 8252 section 7.3). */
const CLIENT_FOR_PERSONS = { token_endpoint_auth_method: 'none', application_type: 'native' } as const;
const CLIENT_FOR_PROGRAMS = { redirect_uris: [], grant_types: ['client_credentials'], response_types: [] };

interface IssuerOptions {
  /** The address at which callers reach the issuer. */
  readonly url: string;
  readonly audience: string;
  readonly scopes: string;
  readonly redirectUris: readonly string[];
  /** A key from `makeSigningKey`. After a start with another key, all earlier tokens are refused. */
  readonly signingKey: string;
  /** A client that gets tokens by the client credentials grant. */
  readonly machine: { readonly id: string; readonly secret: string };
}

/** Lets the server answer as an issuer. */
export async function serveIssuer(server: Server, options: IssuerOptions): Promise<void> {
  const provider = await createProvider(options);
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const isSignIn = request.url?.startsWith('/interaction/');
    if (isSignIn) {
      provider
        // oidc-provider asks each `native` client for consent. Without `consent` here, it would ask again and again
        .interactionFinished(request, response, { login: { accountId: ACCOUNT }, consent: {} })
        .catch(() => response.writeHead(400).end('This sign-in is over. Sign in again.'));
    } else {
      void answer(request, response);
    }
  });
}

async function createProvider(options: IssuerOptions): Promise<Provider> {
  const { url, audience, scopes, redirectUris, machine, signingKey } = options;
  const { warn } = console;
  // Hides two warnings of oidc-provider: that it does not support Node.js 20, and that its data is only in memory
  console.warn = () => undefined;
  const { Provider: OidcProvider } = await import('oidc-provider');
  const provider: Provider = new OidcProvider(url, {
    clients: [
      { client_id: 'order-lookup-docs', redirect_uris: [...redirectUris], ...CLIENT_FOR_PERSONS },
      { client_id: machine.id, client_secret: machine.secret, ...CLIENT_FOR_PROGRAMS },
    ],
    jwks: { keys: [JSON.parse(signingKey) as JWK] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    pkce: { required: () => true },
    clientBasedCORS: () => true, // Swagger UI fetches tokens from another origin
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: Object.fromEntries(LIMITED_TYPES.map((name) => [name, TOKEN_SECONDS])),
    // Grants all scopes to everybody, so that oidc-provider asks nobody for a scope
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
          accessTokenFormat: 'jwt', // RFC 9068
          accessTokenTTL: TOKEN_SECONDS,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  console.warn = warn;
  return provider;
}

/** Returns a new private key as a JWK, in JSON. */
export async function makeSigningKey(): Promise<string> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return JSON.stringify({ ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256' });
}
