import type { Configuration } from '../../configuration/configuration.js';
import { isIssuerAddress, isKeyAddress } from '../../configuration/key-address.js';
import { fetchJson } from './fetch-json.js';

/** What this service uses of the metadata of an issuer (OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2). */
export interface IssuerMetadata {
  readonly issuer: string;
  readonly jwks_uri: string;
  /** An address that is missing or not safe is left out. */
  readonly authorization_endpoint: string | undefined;
  readonly token_endpoint: string | undefined;
  readonly scopes_supported: readonly string[];
}

type Settings = Pick<Configuration, 'OAUTH_ALLOW_HTTP'>;

/** @throws Error if there are no metadata of exactly this issuer (RFC 8414 section 3.3) with a safe jwks_uri */
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
  const document = await fetchJson(address);
  const members = Object(document) as Record<string, unknown>;
  if (members['issuer'] !== issuer) {
    const named = JSON.stringify(members['issuer']);
    throw new Error(`${address} names the issuer ${named}: OAUTH_ISSUER has to be exactly that`);
  }
  const jwksUri = members['jwks_uri'];
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) {
    throw new Error(`${address} has no jwks_uri`);
  }
  if (!isSafe(jwksUri, issuer, settings)) {
    const shown = JSON.stringify(jwksUri);
    throw new Error(`${address} has a jwks_uri without https, or with a user or a #: ${shown}`);
  }
  return {
    issuer,
    jwks_uri: jwksUri,
    authorization_endpoint: safeAddress(members['authorization_endpoint'], issuer, settings),
    token_endpoint: safeAddress(members['token_endpoint'], issuer, settings),
    scopes_supported: textsOf(members['scopes_supported']),
  };
}

/** Whether an address is as safe as a configured one has to be, and as the issuer itself. */
function isSafe(address: string, issuer: string, settings: Settings): boolean {
  if (!isKeyAddress(address, settings)) return false;
  return isHttps(address) || !isHttps(issuer) || settings.OAUTH_ALLOW_HTTP;
}

/** Secrets are sent to these addresses, so the rule for signing keys holds for them as well. */
function safeAddress(address: unknown, issuer: string, settings: Settings): string | undefined {
  if (typeof address !== 'string') return undefined;
  return isSafe(address, issuer, settings) ? address : undefined;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((member) => typeof member === 'string') : [];
}

const isHttps = (address: string): boolean => new URL(address).protocol === 'https:';
const withoutLastSlash = (text: string): string => text.replace(/\/$/, '');
