// Faults of an access token that are found before its signature is verified (RFC 7519, RFC 8725, RFC 9068).
import { type JWTPayload, decodeJwt, decodeProtectedHeader } from 'jose';
import type { Configuration } from '../../configuration/configuration.js';
import type { Fault } from '../fault.js';
import { ALGORITHMS } from '../issuers/key-set.js';

/** Members may be missing or of any type. */
export interface UnverifiedToken {
  readonly header: ReturnType<typeof decodeProtectedHeader>;
  readonly claims: JWTPayload;
}

/** It leaves 4 KiB for the other headers. */
export const MAX_TOKEN_BYTES = 12 * 1024;
/** Tolerated difference between clocks (RFC 7519 section 4.1.4). */
export const CLOCK_SKEW_SECONDS = 30;
/** A JWS in its compact form (RFC 7515 section 7.1): three parts of base64url, none of them empty. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const END_OF_YEAR_9999 = 253_402_300_799;

export function decodeToken(token: string): UnverifiedToken | Fault {
  if (token.length > MAX_TOKEN_BYTES) return { reason: 'too-long' };
  try {
    if (!COMPACT.test(token)) return { reason: 'malformed' };
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    return { reason: 'malformed' };
  }
}

export function faultOf(
  { header, claims }: UnverifiedToken,
  { OAUTH_TOKEN_TYPE, OAUTH_ISSUER, OAUTH_AUDIENCE, OAUTH_CLIENTS }: Configuration,
): string | undefined {
  const { alg, kid, typ } = header;
  const { iss, aud, exp, nbf = 0, iat = 0, client_id, azp, appid, cid } = claims;
  const client = [client_id, azp, appid, cid].find((id) => id !== undefined);
  const now = Date.now() / 1000;
  const hasBegun = (at: unknown): boolean => isDate(at) && at <= now + CLOCK_SKEW_SECONDS;
  const isSound: Readonly<Record<string, boolean>> = {
    algorithm: isOneOf(ALGORITHMS, alg),
    // Both change what is signed (RFC 7515 section 4.1.11, RFC 7797)
    critical: !('crit' in header || 'b64' in header),
    'key-id': kid === undefined || isText(kid),
    type: isAccessTokenType(typ, OAUTH_TOKEN_TYPE),
    issuer: isOneOf(OAUTH_ISSUER, iss),
    audience:
      OAUTH_AUDIENCE.length === 0 || [aud].flat().some((one) => isOneOf(OAUTH_AUDIENCE, one)),
    client: OAUTH_CLIENTS.length === 0 || isOneOf(OAUTH_CLIENTS, client),
    'no-expiry': isDate(exp),
    expired: isDate(exp) && exp + CLOCK_SKEW_SECONDS > now,
    'not-before': hasBegun(nbf),
    'issued-at': hasBegun(iat),
    'another-kind': !isAnotherKind(claims),
  };
  return Object.keys(isSound).find((fault) => !isSound[fault]);
}

/** RFC 9068 section 2.1 requires at+jwt; common issuers send JWT or none. */
function isAccessTokenType(typ: unknown, demanded: string): boolean {
  if (typ === undefined) return demanded === '';
  const type = isText(typ) ? typ.toLowerCase().replace(/^application\//, '') : '';
  return type === 'at+jwt' || (type === 'jwt' && demanded === '');
}

/** An ID token has at_hash, c_hash, s_hash or a nonce, a logout token events. Keycloak names the kind in `typ`, Amazon Cognito in `token_use`. */
function isAnotherKind(claims: JWTPayload): boolean {
  const has = (...names: string[]): boolean => names.some((name) => name in claims);
  const { typ, token_use } = claims;
  const kinds = [typ, token_use].filter(isText).map((kind) => kind.toLowerCase());
  if (kinds.some((kind) => ['id', 'refresh', 'offline', 'logout'].includes(kind))) return true;
  if (has('at_hash', 'c_hash', 's_hash', 'events')) return true;
  return has('nonce') && !has('scope', 'scp', 'client_id') && !kinds.includes('bearer');
}

/** Whether `wanted` was granted, as a scope (RFC 9068 section 2.2.3), role or permission. Each is a list, or a text with spaces. */
export const hasScope = ({ scope, scp, roles, permissions }: JWTPayload, wanted: string): boolean =>
  [scope, scp, roles, permissions].some((granted) =>
    (isText(granted) ? granted.split(' ') : [granted].flat()).includes(wanted),
  );

const isDate = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= END_OF_YEAR_9999;
const isText = (value: unknown): value is string => typeof value === 'string';
const isOneOf = (texts: readonly string[], value: unknown): boolean =>
  isText(value) && texts.includes(value);
