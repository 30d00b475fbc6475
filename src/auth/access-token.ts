// Makes the checks that jose does not make. They find tokens that are no access tokens, such as ID tokens (RFC 8725 and
// RFC 9068). This file also finds the client and the scopes that a token names.
import { type JWTPayload, type ProtectedHeaderParameters, decodeJwt, decodeProtectedHeader } from 'jose';
import { MAX_HEADER_BYTES } from '../problems/limits.js';
import { type Verdict, accepted, refused } from './verdict.js';

const RESERVED_FOR_OTHER_HEADERS_BYTES = 4 * 1024;
/** The largest token, 12 KiB. If you change it, change openapi.yaml and the pages that name it. */
export const MAX_TOKEN_BYTES = MAX_HEADER_BYTES - RESERVED_FOR_OTHER_HEADERS_BYTES;
/**
 * A JWS such as `eyJhbGci.eyJpc3Mi.c2lnbmF0` (RFC 7515 section 7.1): header, claims and signature in base64url. Without
 * this check jose would accept white space and padding.
 */
const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Claims that say what kind of token it is, such as `"token_use": "id"`. */
const KIND_CLAIMS = [
  'typ', // Keycloak
  'token_use', // Cognito
  'tok_type', // Oracle
  'tokenType', // Casdoor
  'tokenName', // PingAM
  'token_type', // home-made issuers
  'type', // home-made issuers
];
/**
 * The kinds that are refused, as `readKind` returns them. `it` and `rt` are Oracle's ID and refresh token. If a kind is
 * missing here, its tokens are accepted. Never add `bearer`, `access` or `at`: they mean access tokens.
 */
const REFUSED_KINDS = ['id', 'it', 'refresh', 'rt', 'offline', 'logout'];
/** Claims that access tokens never have. A token with one of these claims is refused. */
const CLAIMS_OF_REFUSED_KINDS = [
  'at_hash', // ID tokens (OpenID Connect Core 1.0 section 3.3.2.11)
  'c_hash', // ID tokens (OpenID Connect Core 1.0 section 3.3.2.11)
  's_hash', // ID tokens (FAPI 1.0 part 2)
  'events', // logout tokens (OpenID Connect Back-Channel Logout 1.0)
  'granted_scopes', // refresh tokens (Cloud Foundry UAA, and so SAP XSUAA)
  'ati', // refresh tokens (Spring Security OAuth)
];
/** Claims that ID tokens do not have. A token with a nonce and one of these claims is an access token. */
const CLAIMS_OF_ACCESS_TOKENS = ['scope', 'scp', 'client_id'];
/**
 * Claims that name the client. If a token has several of them, the first in this order is used. Keep the order: if two
 * claims differ, another order could admit a client that OAUTH_CLIENTS excludes.
 */
const CLIENT_CLAIMS = ['client_id', 'azp', 'appid', 'cid']; // of RFC 9068, OpenID Connect, Entra ID, Okta
/** Claims with the scope of an access token. Never add `roles` or `permissions`, because ID tokens may have them. */
const OAUTH_SCOPE_CLAIMS = ['scope', 'scp'];
/**
 * Claims that say what a token grants: `scope` (RFC 9068 section 2.2.3), `scp` (Okta, Entra ID), `roles` (Entra ID for
 * programs), `permissions` (Auth0). Never add a claim that users can change: they could grant themselves the scope.
 */
const GRANT_CLAIMS = [...OAUTH_SCOPE_CLAIMS, 'roles', 'permissions'];
const END_OF_YEAR_9999_SECONDS = 253_402_300_799;

/** A token whose signature was not checked. Members of header and claims may be missing or have any type. */
export interface UnverifiedToken {
  readonly text: string;
  readonly header: ProtectedHeaderParameters;
  readonly claims: JWTPayload;
}

/** Reads a token without verifying it, because its claim `iss` says whose keys verify it. */
export function readToken(text: string): Verdict<UnverifiedToken> {
  if (text.length > MAX_TOKEN_BYTES) return refused('too-long');
  const header = decode(() => decodeProtectedHeader(text));
  // An opaque token has no header. Only the header of an encrypted token has `enc` (RFC 7516 section 4.1.2)
  if (!header || 'enc' in header) return refused('not-a-jwt');
  const claims = decode(() => decodeJwt(text));
  if (!claims || !COMPACT_FORM.test(text)) return refused('malformed');
  // `crit` and `b64` can change which bytes are signed (RFC 7515 section 4.1.11, RFC 7797). jose accepts crit: ['b64']
  if ('crit' in header || 'b64' in header) return refused('critical');
  return accepted({ text, header, claims });
}

/** Returns whether the header has the type at+jwt, the type JWT, or no type. Common issuers send each of the three. */
export function hasAcceptedType(header: ProtectedHeaderParameters): boolean {
  const { typ } = header;
  if (typ === undefined || hasAccessTokenType(header)) return true;
  return typeof typ === 'string' && /^(application\/)?jwt$/i.test(typ);
}

/** Returns whether the header has the type at+jwt (RFC 9068 section 2.1), which only access tokens have. */
function hasAccessTokenType({ typ }: ProtectedHeaderParameters): boolean {
  return typeof typ === 'string' && /^(application\/)?at\+jwt$/i.test(typ);
}

/** Returns whether a token is, or may be, an ID, refresh or logout token. */
export function isOfAnotherKind(header: ProtectedHeaderParameters, claims: JWTPayload): boolean {
  const kinds = KIND_CLAIMS.map((name) => readKind(claims[name]));
  if (kinds.some((kind) => REFUSED_KINDS.includes(kind))) return true;
  if (hasAny(claims, CLAIMS_OF_REFUSED_KINDS)) return true;
  if (hasAccessTokenType(header)) return false;
  // An ID token of Entra ID (code flow) looks like an access token, except that it names no client and no scope
  if (findClient(claims) === undefined && !hasOAuthScope(claims)) return true;
  // ID tokens have a nonce, and so have some access tokens
  const isLikeAccessToken = kinds.includes('bearer') || hasAny(claims, CLAIMS_OF_ACCESS_TOKENS);
  return 'nonce' in claims && !isLikeAccessToken;
}

/** Returns the kind in lower case and without the word token: `refresh` for `Refresh_Token`. */
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
 * @param claims verified by jose: their `exp` is a number or missing
 */
export function expiresBeforeYear10000(claims: JWTPayload): claims is JWTPayload & { readonly exp: number } {
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
  const scopes = OAUTH_SCOPE_CLAIMS.flatMap((name) => claims[name]); // a claim may be a text or a list of texts
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
