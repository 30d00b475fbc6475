// An OAuth 2.0 server for development: authorization code grant with PKCE, JWT access tokens (RFC 9068) for our audience. Anyone who reaches it
// can sign in with one click, so it is only for this machine and for tests, never for production.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import './quiet-oidc-provider.js';
import { type JWK, exportJWK, exportPKCS8, generateKeyPair, importPKCS8 } from 'jose';
import { type ClientMetadata, Provider } from 'oidc-provider';
import { signInPage } from './sign-in-page.js';

const TOKEN_SECONDS = 8 * 3600;
const ACCOUNT = 'demo-user';
const DOCS_CLIENT = 'order-lookup-docs';

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
  /** A client for tests that gets tokens by the client credentials grant. */
  readonly machine?: { readonly id: string; readonly secret: string };
}

export interface LocalIssuer {
  /** A token like those of the authorization code grant. */
  accessToken(): Promise<string>;
  close(): void;
}

export async function startIssuer(options: IssuerOptions): Promise<LocalIssuer> {
  const { url, host, port, audience, scopes, redirectUris, machine } = options;
  const resourceServer = {
    audience,
    scope: scopes,
    accessTokenFormat: 'jwt',
    accessTokenTTL: TOKEN_SECONDS,
    jwt: { sign: { alg: 'RS256' } },
  } as const;
  const clients: ClientMetadata[] = [
    {
      client_id: DOCS_CLIENT,
      token_endpoint_auth_method: 'none',
      redirect_uris: [...redirectUris],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
    ...(machine
      ? [
          {
            client_id: machine.id,
            client_secret: machine.secret,
            redirect_uris: [],
            grant_types: ['client_credentials'],
            response_types: [],
          },
        ]
      : []),
  ];
  const provider: Provider = new Provider(url, {
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
      clientCredentials: { enabled: machine !== undefined },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => resourceServer,
      },
    },
  });
  const answer = provider.callback();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/interaction/')) void signIn(provider, request, response);
    else void answer(request, response);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    async accessToken() {
      const client = await provider.Client.find(DOCS_CLIENT);
      if (!client) throw new Error(`the client ${DOCS_CLIENT} is not registered`);
      const grant = new provider.Grant({ clientId: DOCS_CLIENT, accountId: ACCOUNT });
      const token = new provider.AccessToken({
        client,
        accountId: ACCOUNT,
        grantId: await grant.save(),
        gty: 'authorization_code',
        scope: scopes,
      });
      token.resourceServer = new provider.ResourceServer(audience, resourceServer);
      return token.save();
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function signIn(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (request.method === 'POST')
      await provider.interactionFinished(request, response, { login: { accountId: ACCOUNT } });
    else
      response
        .writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' })
        .end(signInPage((await provider.interactionDetails(request, response)).params));
  } catch {
    response
      .writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8' })
      .end('This sign-in is over. Go back to the application and sign in again.');
  }
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
