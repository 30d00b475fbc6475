// Faults of an access token that show before its signature is verified (RFC 7519, RFC 8725, RFC 9068). So they cost
// little, and may be named to a caller whose API key is not valid.
import { type JWTPayload, decodeJwt, decodeProtectedHeader } from 'jose';
import type { Configuration } from '../../configuration/configuration.js';
import { ALGORITHMS, CLOCK_SKEW_SECONDS } from '../issuers/verify-token.js';
import type { RefusalReason } from '../verdict.js';

type Header = ReturnType<typeof decodeProtectedHeader>;

/** Members may be missing or of any type. */
export interface DecodedToken {
  readonly header: Header;
  readonly claims: JWTPayload;
}

/** It leaves 4 KiB for the other headers. */
export const MAX_TOKEN_BYTES = 12 * 1024;
/** A JWS in its compact form (RFC 7515 section 7.1): three parts of base64url, none of them empty. */
const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const END_OF_YEAR_9999_SECONDS = 253_402_300_799;
/** What Keycloak writes into `typ` and Amazon Cognito into `token_use`, in lower case. */
const OTHER_KINDS = ['id', 'refresh', 'offline', 'logout'];
/** An ID token has a hash of what it was issued with, a logout token has events. */
const CLAIMS_OF_OTHER_KINDS = ['at_hash', 'c_hash', 's_hash', 'events'];
/** The first that a token holds names its client. */
const CLIENT_CLAIMS = ['client_id', 'azp', 'appid', 'cid'];
const SCOPE_CLAIMS = ['scope', 'scp', 'roles', 'permissions'];

export type Decoding =
  | { readonly isDecoded: true; readonly token: DecodedToken }
  | { readonly isDecoded: false; readonly reason: 'too-long' | 'malformed' };

export function decodeToken(text: string): Decoding {
  if (text.length > MAX_TOKEN_BYTES) return { isDecoded: false, reason: 'too-long' };
  if (!COMPACT_FORM.test(text)) return { isDecoded: false, reason: 'malformed' };
  try {
    const token = { header: decodeProtectedHeader(text), claims: decodeJwt(text) };
    return { isDecoded: true, token };
  } catch {
    return { isDecoded: false, reason: 'malformed' };
  }
}

/** The first fault, as one of the fixed words of metrics and log, or undefined. */
export function faultOf(
  { header, claims }: DecodedToken,
  configuration: Configuration,
): RefusalReason | undefined {
  return (
    faultOfHeader(header, configuration) ??
    faultOfOrigin(claims, configuration) ??
    faultOfTimes(claims)
  );
}

function faultOfHeader(
  header: Header,
  { OAUTH_TOKEN_TYPE }: Configuration,
): RefusalReason | undefined {
  const { alg, kid, typ } = header;
  if (!isOneOf(ALGORITHMS, alg)) return 'algorithm';
  // Both change what is signed (RFC 7515 section 4.1.11, RFC 7797)
  if ('crit' in header || 'b64' in header) return 'critical';
  if (kid !== undefined && !isText(kid)) return 'key-id';
  if (!isAccessTokenType(typ, OAUTH_TOKEN_TYPE)) return 'type';
  return undefined;
}

/** Who issued it, for whom, and whether it is an access token at all. */
function faultOfOrigin(
  claims: JWTPayload,
  configuration: Configuration,
): RefusalReason | undefined {
  const { OAUTH_ISSUER, OAUTH_AUDIENCE, OAUTH_CLIENTS } = configuration;
  if (!isOneOf(OAUTH_ISSUER, claims.iss)) return 'issuer';
  const isForUs = listOf(claims.aud).some((audience) => isOneOf(OAUTH_AUDIENCE, audience));
  if (OAUTH_AUDIENCE.length > 0 && !isForUs) return 'audience';
  const nameOfClient = CLIENT_CLAIMS.find((name) => claims[name] !== undefined) ?? '';
  if (OAUTH_CLIENTS.length > 0 && !isOneOf(OAUTH_CLIENTS, claims[nameOfClient])) return 'client';
  if (isOfAnotherKind(claims)) return 'another-kind';
  return undefined;
}

/** `iat` is not looked at: no RFC asks for it, and clocks differ. */
function faultOfTimes({ exp, nbf }: JWTPayload): RefusalReason | undefined {
  const nowSeconds = Date.now() / 1000;
  if (!isDate(exp)) return 'no-expiry';
  if (exp + CLOCK_SKEW_SECONDS <= nowSeconds) return 'expired';
  if (nbf === undefined) return undefined;
  const hasBegun = isDate(nbf) && nbf <= nowSeconds + CLOCK_SKEW_SECONDS;
  return hasBegun ? undefined : 'not-before';
}

/** RFC 9068 section 2.1 requires at+jwt; common issuers send JWT or none. */
function isAccessTokenType(type: unknown, demanded: string): boolean {
  if (type === undefined) return demanded === '';
  if (!isText(type)) return false;
  const name = type.toLowerCase().replace(/^application\//, '');
  return name === 'at+jwt' || (name === 'jwt' && demanded === '');
}

function isOfAnotherKind(claims: JWTPayload): boolean {
  const { typ, token_use: use } = claims;
  const kinds = [typ, use].filter(isText).map((kind) => kind.toLowerCase());
  if (kinds.some((kind) => OTHER_KINDS.includes(kind))) return true;
  if (CLAIMS_OF_OTHER_KINDS.some((name) => name in claims)) return true;
  // Some access tokens have the nonce of the request, too, but ID tokens say nothing of scopes and clients
  const isLikeAccessToken = kinds.includes('bearer') || hasAny(claims, 'scope', 'scp', 'client_id');
  return 'nonce' in claims && !isLikeAccessToken;
}

/** Whether `wanted` was granted, as a scope (RFC 9068 section 2.2.3), a role or a permission. */
export function hasScope(claims: JWTPayload, wanted: string): boolean {
  return SCOPE_CLAIMS.some((name) => {
    const granted = claims[name];
    const names = isText(granted) ? granted.split(' ') : listOf(granted);
    return names.includes(wanted);
  });
}

const hasAny = (claims: JWTPayload, ...names: string[]): boolean =>
  names.some((name) => name in claims);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);
const isDate = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= END_OF_YEAR_9999_SECONDS;
const isText = (value: unknown): value is string => typeof value === 'string';
const isOneOf = (texts: readonly string[], value: unknown): boolean =>
  isText(value) && texts.includes(value);
