// Faults of an access token that show before its signature is verified (RFC 7519, RFC 8725, RFC 9068). To find them
// costs little, and they may be named to a caller whose API key is not valid.
import { type JWTPayload, decodeJwt, decodeProtectedHeader } from 'jose';
import type { Configuration } from '../../configuration/configuration.js';
import { MAX_HEADER_BYTES } from '../../problems/limits.js';
import { ALGORITHMS, CLOCK_SKEW_SECONDS } from '../issuers/verify-token.js';
import type { RefusalReason } from '../verdict.js';

type TokenHeader = ReturnType<typeof decodeProtectedHeader>;

/** A token whose signature nobody has verified. Its members may be missing or of any type. */
export interface DecodedToken {
  readonly header: TokenHeader;
  readonly claims: JWTPayload;
}

export type Decoding =
  | { readonly isDecoded: true; readonly token: DecodedToken }
  | { readonly isDecoded: false; readonly reason: RefusalReason };

/** What a request's other headers need at least. */
const OTHER_HEADERS_BYTES = 4 * 1024;
/** 12 KiB: openapi.yaml and the pages for people name the number. */
export const MAX_TOKEN_BYTES = MAX_HEADER_BYTES - OTHER_HEADERS_BYTES;
/** The compact form of a JWS (RFC 7515 section 7.1): three parts in base64url, none of them empty. */
const COMPACT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const END_OF_YEAR_9999_SECONDS = 253_402_300_799;
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

/**
 * The first fault of a token, or undefined. The log names one reason, so the order matters: a token of another issuer,
 * or made for something else, is named so and not as expired, since a new one would not help its caller.
 */
export function visibleFaultOf(
  { header, claims }: DecodedToken,
  configuration: Configuration,
): RefusalReason | undefined {
  return faultOfHeader(header, configuration) ?? faultOfOrigin(claims, configuration) ?? faultOfTimes(claims);
}

function faultOfHeader(header: TokenHeader, { OAUTH_TOKEN_TYPE }: Configuration): RefusalReason | undefined {
  const { alg, kid, typ } = header;
  if (!isOneOf(ALGORITHMS, alg)) return 'algorithm';
  // Both change what is signed (RFC 7515 section 4.1.11, RFC 7797)
  if ('crit' in header || 'b64' in header) return 'critical';
  if (kid !== undefined && !isText(kid)) return 'key-id';
  if (!isAccessTokenType(typ, OAUTH_TOKEN_TYPE)) return 'type';
  return undefined;
}

/** Judges who issued a token, for whom, and whether it is an access token at all. */
function faultOfOrigin(claims: JWTPayload, configuration: Configuration): RefusalReason | undefined {
  const { OAUTH_ISSUER, OAUTH_AUDIENCE, OAUTH_CLIENTS } = configuration;
  if (!isOneOf(OAUTH_ISSUER, claims.iss)) return 'issuer';
  if (OAUTH_AUDIENCE.length > 0 && !isForOneOf(OAUTH_AUDIENCE, claims.aud)) return 'audience';
  if (OAUTH_CLIENTS.length > 0 && !isOneOf(OAUTH_CLIENTS, clientOf(claims))) return 'client';
  if (isOfAnotherKind(claims)) return 'another-kind';
  return undefined;
}

/** `iat` may be in the future: no RFC asks for its check, and clocks differ. jose refuses one that is no number. */
function faultOfTimes({ exp, nbf }: JWTPayload): RefusalReason | undefined {
  const nowSeconds = Date.now() / 1000;
  if (!isNumericDate(exp)) return 'no-expiry';
  if (exp + CLOCK_SKEW_SECONDS <= nowSeconds) return 'expired';
  if (nbf === undefined) return undefined;
  if (!isNumericDate(nbf) || nbf > nowSeconds + CLOCK_SKEW_SECONDS) return 'not-before';
  return undefined;
}

/**
 * RFC 9068 section 2.1 requires at+jwt, in any case, also as a media type. Common issuers send JWT or none.
 * @param demandedType OAUTH_TOKEN_TYPE: `at+jwt`, or empty if the others are accepted, too
 */
function isAccessTokenType(type: unknown, demandedType: string): boolean {
  if (type === undefined) return demandedType === '';
  if (!isText(type)) return false;
  const name = type.toLowerCase().replace(/^application\//, '');
  return name === 'at+jwt' || (name === 'jwt' && demandedType === '');
}

function isForOneOf(ours: readonly string[], audience: unknown): boolean {
  const audiences = Array.isArray(audience) ? audience : [audience];
  return audiences.some((each) => isOneOf(ours, each));
}

function clientOf(claims: JWTPayload): unknown {
  const name = CLIENT_CLAIMS.find((each) => claims[each] !== undefined);
  return name === undefined ? undefined : claims[name];
}

function isOfAnotherKind(claims: JWTPayload): boolean {
  const { typ, token_use: use } = claims;
  const kinds = [typ, use].filter(isText).map((kind) => kind.toLowerCase());
  if (kinds.some((kind) => OTHER_KINDS.includes(kind))) return true;
  if (hasAny(claims, CLAIMS_OF_OTHER_KINDS)) return true;
  // Some access tokens have the nonce of the request as well
  const isLikeAccessToken = kinds.includes('bearer') || hasAny(claims, CLAIMS_OF_ACCESS_TOKENS);
  return 'nonce' in claims && !isLikeAccessToken;
}

function hasAny(claims: JWTPayload, names: readonly string[]): boolean {
  return names.some((name) => name in claims);
}

/** A NumericDate of RFC 7519 section 2, in seconds since the epoch, that a person may have meant. */
function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= END_OF_YEAR_9999_SECONDS;
}

function isOneOf(texts: readonly string[], value: unknown): boolean {
  return isText(value) && texts.includes(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
