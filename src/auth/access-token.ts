// What an access token says of itself: whether it is one at all (RFC 7519, RFC 8725, RFC 9068), of which client, and
// what it grants. jose would accept what is refused here.
import { type JWTPayload, type ProtectedHeaderParameters, decodeJwt, decodeProtectedHeader } from 'jose';
import { MAX_HEADER_BYTES } from '../problems/limits.js';
import { type Verdict, accepted, refused } from './verdict.js';

/** What a request's other headers need at least. */
const OTHER_HEADERS_BYTES = 4 * 1024;
/** 12 KiB: openapi.yaml and the pages for people name the number. */
export const MAX_TOKEN_BYTES = MAX_HEADER_BYTES - OTHER_HEADERS_BYTES;
/**
 * The compact form of a JWS (RFC 7515 section 7.1): three parts in base64url, none of them empty. jose would also take
 * white space and padding.
 */
const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * The kinds that Keycloak writes into `typ` and Amazon Cognito into `token_use`, in lower case. A kind that is missing
 * here lets somebody call with a token that a browser got; `bearer` and `access` must not stand here.
 */
const OTHER_KINDS = ['id', 'refresh', 'offline', 'logout'];
/**
 * Claims that only other kinds have: an ID token a hash of what it was issued with, a logout token events. A claim that
 * some issuer writes into access tokens as well must not stand here: all of its callers would be refused.
 */
const CLAIMS_OF_OTHER_KINDS = ['at_hash', 'c_hash', 's_hash', 'events'];
/** Claims that ID tokens do not have. They tell an access token with a nonce from an ID token. */
const CLAIMS_OF_ACCESS_TOKENS = ['scope', 'scp', 'client_id'];
/**
 * The first of these claims that a token holds names its client. The standard name (RFC 9068) comes first, since it
 * counts where an issuer writes another one as well: `azp` is the party that asked, `appid` (Entra ID) and `cid` (Okta)
 * stand in for `client_id`. In another order OAUTH_CLIENTS would mean another client.
 */
const CLIENT_CLAIMS = ['client_id', 'azp', 'appid', 'cid'];
/**
 * What issuers name the claim that says what a token grants: `scope` (RFC 9068 section 2.2.3), `scp` (Okta, Entra ID),
 * `roles` (Entra ID for programs), `permissions` (Auth0). Each further name lets tokens pass that were refused before:
 * it has to be one that users cannot write into their tokens themselves.
 */
const SCOPE_CLAIMS = ['scope', 'scp', 'roles', 'permissions'];
const END_OF_YEAR_9999_SECONDS = 253_402_300_799;

/** A token that nobody has verified: its members may be missing or of any type. */
export interface ReadToken {
  readonly text: string;
  readonly header: ProtectedHeaderParameters;
  readonly claims: JWTPayload;
}

/** Reads a token, whose issuer says with whose keys to verify it. Refuses what jose would accept or not tell apart. */
export function readToken(text: string): Verdict<ReadToken> {
  if (text.length > MAX_TOKEN_BYTES) return refused('too-long');
  const header = decode(() => decodeProtectedHeader(text));
  // The first of its parts is a JSON object, which names another algorithm where it is encrypted (RFC 7516 section 4.1.2)
  if (!header || 'enc' in header) return refused('not-a-jwt');
  const claims = decode(() => decodeJwt(text));
  if (!claims || !COMPACT_FORM.test(text)) return refused('malformed');
  // Both change what is signed (RFC 7515 section 4.1.11, RFC 7797). jose takes b64, and a crit that names it
  if ('crit' in header || 'b64' in header) return refused('critical');
  return accepted({ text, header, claims });
}

/** RFC 9068 section 2.1 requires at+jwt, in any case, also as a media type. Common issuers send JWT or none. */
export function isAccessTokenType({ typ }: ProtectedHeaderParameters): boolean {
  return typ === undefined || (typeof typ === 'string' && /^(application\/)?(at\+)?jwt$/i.test(typ));
}

/** Whether a token is an ID, refresh or logout token. */
export function isOfAnotherKind(claims: JWTPayload): boolean {
  const kinds = [claims['typ'], claims['token_use']].map((kind) =>
    typeof kind === 'string' ? kind.toLowerCase() : '',
  );
  if (kinds.some((kind) => OTHER_KINDS.includes(kind))) return true;
  if (hasAny(claims, CLAIMS_OF_OTHER_KINDS)) return true;
  // Some access tokens have the nonce of the request as well
  const isLikeAccessToken = kinds.includes('bearer') || hasAny(claims, CLAIMS_OF_ACCESS_TOKENS);
  return 'nonce' in claims && !isLikeAccessToken;
}

/** Whether a token is of one of these clients. */
export function isOfClient(claims: JWTPayload, clients: readonly string[]): boolean {
  const name = CLIENT_CLAIMS.find((each) => claims[each] !== undefined);
  const client = name === undefined ? undefined : claims[name];
  return typeof client === 'string' && clients.includes(client);
}

/**
 * jose takes every number for a time. One that no calendar has would be a token without an end.
 * @param claims that jose has verified, so their exp is a number if there is one
 */
export function hasExpiry(claims: JWTPayload): claims is JWTPayload & { readonly exp: number } {
  return claims.exp !== undefined && claims.exp <= END_OF_YEAR_9999_SECONDS;
}

/** Whether `wanted` was granted, as a scope, a role or a permission. */
export function hasScope(claims: JWTPayload, wanted: string): boolean {
  return SCOPE_CLAIMS.some((name) => {
    const granted = claims[name];
    if (typeof granted === 'string') return granted.split(' ').includes(wanted); // RFC 8693 section 4.2
    return Array.isArray(granted) && granted.includes(wanted);
  });
}

function hasAny(claims: JWTPayload, names: readonly string[]): boolean {
  return names.some((name) => name in claims);
}

function decode<T>(decoding: () => T): T | undefined {
  try {
    return decoding();
  } catch {
    return undefined; // its caller refuses the token
  }
}
