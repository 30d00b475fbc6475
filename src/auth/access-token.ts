// What jose does not check of an access token: its kind (RFC 8725, RFC 9068), its client and its scopes.
import { type JWTPayload, type ProtectedHeaderParameters, decodeJwt, decodeProtectedHeader } from 'jose';
import { MAX_HEADER_BYTES } from '../problems/limits.js';
import { type Verdict, accepted, refused } from './verdict.js';

const MIN_OTHER_HEADERS_BYTES = 4 * 1024;
/** The largest token, 12 KiB. If you change it, change openapi.yaml and the pages that name it. */
export const MAX_TOKEN_BYTES = MAX_HEADER_BYTES - MIN_OTHER_HEADERS_BYTES;
/**
 * The compact form of a JWS (RFC 7515 section 7.1): three parts in base64url, none of them empty. Without this check
 * jose would accept white space and padding.
 */
const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Claims that name the kind of a token: in Keycloak, Cognito, Oracle, Casdoor, PingAM, and home-made issuers. */
const KIND_CLAIMS = ['typ', 'token_use', 'tok_type', 'tokenType', 'tokenName', 'token_type', 'type'];
/**
 * The values of KIND_CLAIMS for other tokens, in lower case, without the word token. `it` and `rt` are Oracle's ID and
 * refresh token. If a value is missing here, such a token is accepted as an access token. `bearer`, `access` and `at`
 * mean access tokens: never add them.
 */
const OTHER_KINDS = ['id', 'it', 'refresh', 'rt', 'offline', 'logout'];
/**
 * Claims that access tokens never have. If an issuer writes one into its access tokens, its callers are refused.
 * - ID tokens: the hashes (OpenID Connect Core 1.0 section 3.3.2.11, FAPI 1.0 part 2)
 * - logout tokens: `events` (OpenID Connect Back-Channel Logout 1.0)
 * - refresh tokens: `granted_scopes` (Cloud Foundry UAA, and so SAP XSUAA), `ati` (Spring Security OAuth)
 */
const CLAIMS_OF_OTHER_KINDS = ['at_hash', 'c_hash', 's_hash', 'events', 'granted_scopes', 'ati'];
/** Claims that ID tokens do not have. A token with a nonce and one of these claims is an access token. */
const CLAIMS_OF_ACCESS_TOKENS = ['scope', 'scp', 'client_id'];
/**
 * Claims that name the client: RFC 9068, OpenID Connect, Entra ID, Okta. If a token has several, the first of this list
 * is used. Keep the order: the claims of a token may differ, and OAUTH_CLIENTS would then admit other clients.
 */
const CLIENT_CLAIMS = ['client_id', 'azp', 'appid', 'cid'];
/** Claims with the scope of an access token. `roles` and `permissions` are missing, because ID tokens may have them. */
const OAUTH_SCOPE_CLAIMS = ['scope', 'scp'];
/**
 * Claims that say what a token grants: `scope` (RFC 9068 section 2.2.3), `scp` (Okta, Entra ID), `roles` (Entra ID for
 * programs), `permissions` (Auth0). Never add a claim that users can change: they could grant themselves the scope.
 */
const GRANT_CLAIMS = [...OAUTH_SCOPE_CLAIMS, 'roles', 'permissions'];
const END_OF_YEAR_9999_SECONDS = 253_402_300_799;

/** A token that nobody has verified: its members may be missing or of any type. */
export interface ReadToken {
  readonly text: string;
  readonly header: ProtectedHeaderParameters;
  readonly claims: JWTPayload;
}

/** Reads a token without verifying it: its claims say whose keys verify it. Refuses some forms that jose accepts. */
export function readToken(text: string): Verdict<ReadToken> {
  if (text.length > MAX_TOKEN_BYTES) return refused('too-long');
  const header = decode(() => decodeProtectedHeader(text));
  // Only the header of an encrypted token has `enc` (RFC 7516 section 4.1.2)
  if (!header || 'enc' in header) return refused('not-a-jwt');
  const claims = decode(() => decodeJwt(text));
  if (!claims || !COMPACT_FORM.test(text)) return refused('malformed');
  // `crit` and `b64` can change what is signed (RFC 7515 section 4.1.11, RFC 7797). jose accepts both if crit lists b64
  if ('crit' in header || 'b64' in header) return refused('critical');
  return accepted({ text, header, claims });
}

/** Returns whether the header has the type at+jwt, the type JWT, or no type. Common issuers send each of the three. */
export function isAccessTokenType(header: ProtectedHeaderParameters): boolean {
  const { typ } = header;
  return typ === undefined || isExplicitType(header) || (typeof typ === 'string' && /^(application\/)?jwt$/i.test(typ));
}

/** Returns whether the header has the type at+jwt (RFC 9068 section 2.1), with or without `application/`. */
function isExplicitType({ typ }: ProtectedHeaderParameters): boolean {
  return typeof typ === 'string' && /^(application\/)?at\+jwt$/i.test(typ);
}

/** Returns true for an ID, refresh or logout token, and for a token without any mark of an access token. */
export function isOfAnotherKind(header: ProtectedHeaderParameters, claims: JWTPayload): boolean {
  const kinds = KIND_CLAIMS.map((name) => readKind(claims[name]));
  if (kinds.some((kind) => OTHER_KINDS.includes(kind))) return true;
  if (hasAny(claims, CLAIMS_OF_OTHER_KINDS)) return true;
  if (isExplicitType(header)) return false;
  // An ID token of Entra ID from a code flow differs from an access token only in this: no client, no scope
  if (findClient(claims) === undefined && !hasOAuthScope(claims)) return true;
  // A nonce is the mark of an ID token, but some access tokens have a nonce, too
  const isLikeAccessToken = kinds.includes('bearer') || hasAny(claims, CLAIMS_OF_ACCESS_TOKENS);
  return 'nonce' in claims && !isLikeAccessToken;
}

function readKind(kind: unknown): string {
  return typeof kind === 'string' ? kind.toLowerCase().replace(/[-_ ]?token$/, '') : '';
}

export function findClient(claims: JWTPayload): string | undefined {
  const name = CLIENT_CLAIMS.find((each) => claims[each] !== undefined);
  const client = name === undefined ? undefined : claims[name];
  return typeof client === 'string' && client !== '' ? client : undefined;
}

/**
 * Returns whether a token expires before the year 10000. jose accepts any number, so a token could be valid for ever.
 * @param claims the claims that jose has verified, so that `exp` is a number or is missing
 */
export function hasExpiry(claims: JWTPayload): claims is JWTPayload & { readonly exp: number } {
  return claims.exp !== undefined && claims.exp <= END_OF_YEAR_9999_SECONDS;
}

export function hasScope(claims: JWTPayload, wanted: string): boolean {
  return GRANT_CLAIMS.some((name) => {
    const granted = claims[name];
    if (typeof granted === 'string') return granted.split(' ').includes(wanted); // RFC 8693 section 4.2
    return Array.isArray(granted) && granted.includes(wanted);
  });
}

function hasOAuthScope(claims: JWTPayload): boolean {
  const scopes = OAUTH_SCOPE_CLAIMS.flatMap((name) => claims[name]); // a claim is a text or a list of texts
  return scopes.some((scope) => {
    return typeof scope === 'string' && scope.trim() !== '';
  });
}

function hasAny(claims: JWTPayload, names: readonly string[]): boolean {
  return names.some((name) => name in claims);
}

function decode<T>(decoding: () => T): T | undefined {
  try {
    return decoding();
  } catch {
    return undefined; // readToken refuses the token
  }
}
