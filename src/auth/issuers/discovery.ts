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

type Reading =
  | { readonly isRead: true; readonly metadata: IssuerMetadata }
  | { readonly isRead: false; readonly error: unknown };

type Settings = Pick<Configuration, 'OAUTH_ALLOW_HTTP'>;

/** @throws Error if there are no metadata of exactly this issuer (RFC 8414 section 3.3) with a safe jwks_uri */
export async function discover(issuer: string, settings: Settings): Promise<IssuerMetadata> {
  if (!isIssuerAddress(issuer, settings)) {
    throw new Error(
      `${issuer} is no address with metadata: OAUTH_JWKS_URI has to hold its key set`,
    );
  }
  const { origin, pathname } = new URL(issuer);
  const openId = `${withoutLastSlash(issuer)}/.well-known/openid-configuration`;
  const openIdReading = await tryToRead(openId, issuer, settings);
  if (openIdReading.isRead) return openIdReading.metadata;
  const oauth = `${origin}/.well-known/oauth-authorization-server${withoutLastSlash(pathname)}`;
  const oauthReading = await tryToRead(oauth, issuer, settings);
  if (oauthReading.isRead) return oauthReading.metadata;
  throw openIdReading.error; // most issuers have the first address only, so its fault is the one to correct
}

async function tryToRead(address: string, issuer: string, settings: Settings): Promise<Reading> {
  try {
    return { isRead: true, metadata: await readMetadata(address, issuer, settings) };
  } catch (error) {
    return { isRead: false, error };
  }
}

/** @throws Error that names the address, what is wrong, and what to do */
async function readMetadata(
  address: string,
  issuer: string,
  settings: Settings,
): Promise<IssuerMetadata> {
  const document = await fetchJson(address);
  const members = Object(document) as Record<string, unknown>;
  const named = members['issuer'];
  if (typeof named !== 'string') {
    throw new Error(`${address} names no issuer: it is no metadata document`);
  }
  if (named !== issuer) {
    const remedy = 'OAUTH_ISSUER has to be the exact iss of its tokens';
    throw new Error(
      `${address} names the issuer ${JSON.stringify(named)}, not ${issuer}: ${remedy}`,
    );
  }
  const jwksUri = members['jwks_uri'];
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) {
    throw new Error(`${address} has no jwks_uri`);
  }
  if (!isSafe(jwksUri, issuer, settings)) {
    const fault = `a jwks_uri without https, or with a user or a #: ${JSON.stringify(jwksUri)}`;
    const remedy =
      'It has to begin with https, or with http and OAUTH_ALLOW_HTTP=true on a test network';
    throw new Error(`${address} has ${fault}. ${remedy}`);
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
