// An OAuth 2.0 server for development: authorization code grant with PKCE for persons, client credentials grant for programs, JWT access tokens
// (RFC 9068) for our audience. Whoever reaches it is signed in as the demo user, without a question: it is only for this machine and for tests.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type JWK, exportJWK, exportPKCS8, generateKeyPair, importPKCS8 } from 'jose';
import type { ClientMetadata, Provider } from 'oidc-provider';
import { StartError } from '../configuration/start-error.js';

const TOKEN_SECONDS = 8 * 3600;
const ACCOUNT = 'demo-user';

interface IssuerOptions {
  /** The exact value of `iss`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly audience: string;
  /** The scopes of the tokens, separated by spaces. */
  readonly scopes: string;
  readonly redirectUris: readonly string[];
  /** File for the signing key, so that tokens remain valid after a restart. Without it each start makes a new key. */
  readonly keyFile?: string;
  /** A client that gets tokens by the client credentials grant. */
  readonly machine: { readonly id: string; readonly secret: string };
}

export interface LocalIssuer {
  close(): void;
}

export async function startIssuer(options: IssuerOptions): Promise<LocalIssuer> {
  const { url, host, port, audience, scopes, redirectUris, machine } = options;
  const clients: ClientMetadata[] = [
    {
      client_id: 'order-lookup-docs',
      token_endpoint_auth_method: 'none',
      redirect_uris: [...redirectUris],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
    {
      client_id: machine.id,
      client_secret: machine.secret,
      redirect_uris: [],
      grant_types: ['client_credentials'],
      response_types: [],
    },
  ];
  const { Provider: OidcProvider } = await quietly(() => import('oidc-provider'));
  const provider: Provider = new OidcProvider(url, {
    clients,
    jwks: { keys: [await signingKey(options.keyFile)] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    pkce: { required: () => true },
    clientBasedCORS: () => true,
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: {
      AccessToken: TOKEN_SECONDS,
      ClientCredentials: TOKEN_SECONDS,
      Session: TOKEN_SECONDS,
      Grant: TOKEN_SECONDS,
      Interaction: 600,
      IdToken: 600,
    },
    async loadExistingGrant({ oidc }) {
      const grant = new provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? ACCOUNT,
      });
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
  const answer = provider.callback();
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) {
      void answer(request, response);
      return;
    }
    const signedIn = { login: { accountId: ACCOUNT } };
    provider.interactionFinished(request, response, signedIn).catch(() => {
      response
        .writeHead(400, { 'Content-Type': 'text/plain' })
        .end('This sign-in is over. Go back to the application and sign in again.');
    });
  });
  server.listen(port, host);
  await once(server, 'listening').catch(() => {
    throw new StartError(
      `The issuer cannot listen on port ${port}: stop the program that has it, or set ISSUER_PORT to another port.`,
    );
  });
  return {
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Without the warnings that data is kept in memory and which versions of Node.js oidc-provider's authors support. */
async function quietly<T>(load: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes('oidc-provider WARNING')) warn(...words);
  };
  return load();
}

async function signingKey(file: string | undefined): Promise<JWK> {
  const kept = file !== undefined && existsSync(file);
  const privateKey = kept
    ? await importPKCS8(readFileSync(file, 'utf8'), 'RS256', { extractable: true })
    : (await generateKeyPair('RS256', { extractable: true })).privateKey;
  if (file !== undefined && !kept)
    writeFileSync(file, await exportPKCS8(privateKey), { mode: 0o600 });
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256' };
}
