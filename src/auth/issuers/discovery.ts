import type { Configuration } from '../../configuration/configuration.js';
import { isIssuerAddress } from '../../configuration/key-address.js';
import { fetchJson } from './fetch-json.js';

/** OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2. */
export interface IssuerMetadata {
  readonly issuer: string;
  readonly jwks_uri: string;
  readonly authorization_endpoint?: string;
  readonly token_endpoint?: string;
  readonly scopes_supported?: readonly string[];
}

/** @throws Error if there is no metadata of exactly this issuer (RFC 8414 section 3.3) with a safe jwks_uri */
export async function discover(issuer: string, settings: Configuration): Promise<IssuerMetadata> {
  if (!isIssuerAddress(issuer, settings)) throw new Error(`${issuer} is only a name`);
  const { origin, pathname, protocol } = new URL(issuer);
  const addresses = [
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`,
  ];
  let failure: unknown;
  for (const address of addresses) {
    try {
      const metadata = (await fetchJson(address)) as IssuerMetadata | null;
      if (metadata?.issuer !== issuer)
        throw new Error(
          `${address} names the issuer ${JSON.stringify(metadata?.issuer)}: OAUTH_ISSUER has to be exactly that`,
        );
      if (!URL.canParse(metadata.jwks_uri)) throw new Error(`${address} has no jwks_uri`);
      const isSafe = protocol !== 'https:' || new URL(metadata.jwks_uri).protocol === 'https:';
      if (!isSafe && !settings.OAUTH_ALLOW_HTTP)
        throw new Error(`${address} has a jwks_uri without https`);
      return metadata;
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}
