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

type Settings = Pick<Configuration, 'OAUTH_ALLOW_HTTP'>;

/** @throws Error if there is no metadata of exactly this issuer (RFC 8414 section 3.3) with a safe jwks_uri */
export async function discover(issuer: string, settings: Settings): Promise<IssuerMetadata> {
  if (!isIssuerAddress(issuer, settings)) throw new Error(`${issuer} is only a name`);
  const { origin, pathname } = new URL(issuer);
  try {
    const openId = `${withoutLastSlash(issuer)}/.well-known/openid-configuration`;
    return await readMetadata(openId, issuer, settings);
  } catch (error) {
    const oauth = `${origin}/.well-known/oauth-authorization-server${withoutLastSlash(pathname)}`;
    try {
      return await readMetadata(oauth, issuer, settings);
    } catch {
      throw error; // most issuers have the first address only, so its fault is the one to correct
    }
  }
}

async function readMetadata(
  address: string,
  issuer: string,
  settings: Settings,
): Promise<IssuerMetadata> {
  const metadata = (await fetchJson(address)) as IssuerMetadata | null;
  if (metadata?.issuer !== issuer) {
    const named = JSON.stringify(metadata?.issuer);
    throw new Error(`${address} names the issuer ${named}: OAUTH_ISSUER has to be exactly that`);
  }
  if (!URL.canParse(metadata.jwks_uri)) throw new Error(`${address} has no jwks_uri`);
  const isHttpsNeeded = isHttps(issuer) && !settings.OAUTH_ALLOW_HTTP;
  if (isHttpsNeeded && !isHttps(metadata.jwks_uri))
    throw new Error(`${address} has a jwks_uri without https`);
  return metadata;
}

const isHttps = (address: string): boolean => new URL(address).protocol === 'https:';
const withoutLastSlash = (text: string): string => text.replace(/\/$/, '');
