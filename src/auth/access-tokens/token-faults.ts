// Faults of an access token that can be found without a key (RFC 7519, RFC 8725, RFC 9068). A caller without a valid API key learns only of
// these. They are checked before a signature is verified.
import { type JWTHeaderParameters, type JWTPayload, decodeJwt, decodeProtectedHeader } from 'jose';
import type { Configuration } from '../../configuration/configuration.js';
import { ALGORITHMS } from '../issuers/key-set.js';
import type { TokenFault } from '../verdict.js';
import { CLOCK_SKEW_SECONDS } from './access-token.js';

/** A decoded token that is not verified: members may be missing or of any type. */
export interface UnverifiedToken {
  readonly header: JWTHeaderParameters;
  readonly claims: JWTPayload;
}

/** A JWS in its compact form (RFC 7515 section 7.1): three parts of base64url, none of them empty. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
export const MAX_KID_CHARACTERS = 256;
/** 9999-12-31. A later date is not accepted. */
const LAST_DATE = 253_402_300_799;
const OTHER_KINDS = ['id', 'refresh', 'offline', 'logout'];

/** Undefined if it is no JWS in its compact form, or if the header or the claims are not JSON objects. */
export function decodeToken(token: string): UnverifiedToken | undefined {
  if (!COMPACT.test(token)) return undefined;
  try {
    return {
      header: decodeProtectedHeader(token) as JWTHeaderParameters,
      claims: decodeJwt(token),
    };
  } catch {
    return undefined;
  }
}

/** @param now seconds since the epoch */
export function* faultsOf(
  { header, claims }: UnverifiedToken,
  { OAUTH_TOKEN_TYPE, OAUTH_ISSUER, OAUTH_AUDIENCE }: Configuration,
  now: number,
): Generator<TokenFault, undefined> {
  const { alg, kid } = header;
  const { iss, aud, exp, nbf = 0, iat = 0 } = claims;
  if (!ALGORITHMS.includes(alg)) yield 'algorithm';
  // Both change what is signed (RFC 7515 section 4.1.11, RFC 7797)
  if ('crit' in header || 'b64' in header) yield 'critical';
  if (kid !== undefined && !(isText(kid) && kid.length <= MAX_KID_CHARACTERS)) yield 'key-id';
  if (!isAccessTokenType(header, OAUTH_TOKEN_TYPE)) yield 'type';
  if (!(isText(iss) && OAUTH_ISSUER.includes(iss))) yield 'issuer';
  if (![aud].flat().includes(OAUTH_AUDIENCE)) yield 'audience';
  if (!isDate(exp)) yield 'no-expiry';
  else if (now >= exp + CLOCK_SKEW_SECONDS) yield 'expired';
  if (!isDate(nbf) || nbf > now + CLOCK_SKEW_SECONDS) yield 'not-before';
  if (!isDate(iat) || iat > now + CLOCK_SKEW_SECONDS) yield 'issued-at';
  if (isAnotherKind(claims)) yield 'another-kind';
  return undefined;
}

/** Accepted values of `typ`. RFC 9068 section 2.1 requires at+jwt; common issuers send JWT or none. */
function isAccessTokenType({ typ }: JWTHeaderParameters, demanded: string): boolean {
  if (typ === undefined) return demanded === '';
  if (!isText(typ)) return false;
  const type = typ.toLowerCase().replace(/^application\//, '');
  return type === 'at+jwt' || (type === 'jwt' && demanded === '');
}

/**
 * Whether the claims are those of another kind of token: an ID token (at_hash, c_hash, s_hash; a nonce without any claim of an access token), a
 * logout token (events), or a token whose claim `typ` (Keycloak) or `token_use` (Amazon Cognito) says so.
 */
function isAnotherKind(claims: JWTPayload): boolean {
  const said = [claims['typ'], claims['token_use']].map((kind) =>
    isText(kind) ? kind.toLowerCase() : '',
  );
  if (said.some((kind) => OTHER_KINDS.includes(kind))) return true;
  if (['at_hash', 'c_hash', 's_hash', 'events'].some((claim) => claim in claims)) return true;
  return (
    'nonce' in claims &&
    !['scope', 'scp', 'client_id'].some((claim) => claim in claims) &&
    !said.includes('bearer')
  );
}

/** Whether an issuer could use such a key id: no path upwards, no space, no quotes. Others are refused without a fetch. */
export const isKeyIdOfAnIssuer = (kid: string): boolean => /^(?!.*\.\.)[\w.~:@/+=|-]+$/.test(kid);

export const isDate = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= LAST_DATE;

const isText = (value: unknown): value is string => typeof value === 'string';
