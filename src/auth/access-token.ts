// The kind of a token (RFC 8725, RFC 9068), its client and its scopes. jose checks none of them.
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

/** Claims that name the kind of a token: in Keycloak, Cognito, Oracle, Casdoor, PingAM, and issuers made by hand. */
const KIND_CLAIMS = ['typ', 'token_use', 'tok_type', 'tokenType', 'tokenName', 'token_type', 'type'];
/**
 * Values of these claims, in lower case, without the word token. If a kind is missing here, somebody can call with a
 * token that a browser got. `bearer`, `access` and `at` are access tokens, and must not be added.
 */
const OTHER_KINDS = ['id', 'it', 'refresh', 'rt', 'offline', 'logout'];
/**
 * Claims that access tokens never have. If an issuer writes one of them into access tokens, its callers are refused.
 * - ID tokens: the hashes (OpenID Connect Core 1.0 section 3.3.2.11, FAPI 1.0 part 2)
 * - logout tokens: `events` (OpenID Connect Back-Channel Logout 1.0)
 * - refresh tokens: `granted_scopes` (Cloud Foundry UAA, and so SAP XSUAA), `ati` (Spring Security OAuth)
 */
const CLAIMS_OF_OTHER_KINDS = ['at_hash', 'c_hash', 's_hash', 'events', 'granted_scopes', 'ati'];
/** Claims that ID tokens do not have. A token with a nonce and one of these claims is an access token. */
const CLAIMS_OF_ACCESS_TOKENS = ['scope', 'scp', 'client_id'];
/**
 * Claims that name the client: RFC 9068, OpenID Connect, Entra ID, Okta. The first one that a token has is used. In
 * another order OAUTH_CLIENTS would mean another client.
 */
const CLIENT_CLAIMS = ['client_id', 'azp', 'appid', 'cid'];
/** Claims that name the scope of an access token. ID tokens may have `roles` and `permissions`, too. */
const OAUTH_SCOPE_CLAIMS = ['scope', 'scp'];
/**
 * Claims that say what a token grants: `scope` (RFC 9068 section 2.2.3), `scp` (Okta, Entra ID), `roles` (Entra ID for
 * programs), `permissions` (Auth0). If you add a claim that users can write, they grant themselves the scope.
 */
const GRANT_CLAIMS = [...OAUTH_SCOPE_CLAIMS, 'roles', 'permissions'];
const END_OF_YEAR_9999_SECONDS = 253_402_300_799;

/** A token that nobody has verified: its members may be missing or of any type. */
export interface ReadToken {
  readonly text: string;
  readonly header: ProtectedHeaderParameters;
  readonly claims: JWTPayload;
}

/** Reads a token before its issuer, and so the key to verify it, is known. Refuses forms that jose would accept. */
export function readToken(text: string): Verdict<ReadToken> {
  if (text.length > MAX_TOKEN_BYTES) return refused('too-long');
  const header = decode(() => decodeProtectedHeader(text));
  // Only the header of an encrypted token has `enc` (RFC 7516 section 4.1.2)
  if (!header || 'enc' in header) return refused('not-a-jwt');
  const claims = decode(() => decodeJwt(text));
  if (!claims || !COMPACT_FORM.test(text)) return refused('malformed');
  // Both change what is signed (RFC 7515 section 4.1.11, RFC 7797). jose would accept `b64`, and `crit` if it lists b64
  if ('crit' in header || 'b64' in header) return refused('critical');
  return accepted({ text, header, claims });
}

/** Returns whether the type in the header is at+jwt or JWT, or is missing. Common issuers send each of these. */
export function isAccessTokenType(header: ProtectedHeaderParameters): boolean {
  const { typ } = header;
  return typ === undefined || isExplicitType(header) || (typeof typ === 'string' && /^(application\/)?jwt$/i.test(typ));
}

/** Returns whether the header has the type at+jwt (RFC 9068 section 2.1), in any case, also as a media type. */
function isExplicitType({ typ }: ProtectedHeaderParameters): boolean {
  return typeof typ === 'string' && /^(application\/)?at\+jwt$/i.test(typ);
}

/** Returns whether a token is an ID, refresh or logout token, or has nothing that makes it an access token. */
export function isOfAnotherKind(header: ProtectedHeaderParameters, claims: JWTPayload): boolean {
  const kinds = KIND_CLAIMS.map((name) => readKind(claims[name]));
  if (kinds.some((kind) => OTHER_KINDS.includes(kind))) return true;
  if (hasAny(claims, CLAIMS_OF_OTHER_KINDS)) return true;
  if (isExplicitType(header)) return false;
  // An ID token of Entra ID for a code flow has no other mark
  if (findClient(claims) === undefined && !hasOAuthScope(claims)) return true;
  // Some access tokens have a nonce, too
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
 * Returns whether a token ends. jose accepts any number as the time, also one that is thousands of years away.
 * @param claims that jose has verified, so their exp is a number if there is one
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
  return OAUTH_SCOPE_CLAIMS.flatMap((name) => claims[name]).some((scope) => {
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
