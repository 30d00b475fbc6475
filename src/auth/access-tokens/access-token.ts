import type { JWTPayload, JWTHeaderParameters } from 'jose';

/** What is remembered of an access token whose signature, issuer and audience were verified. Times are seconds since the epoch. */
export interface AccessToken {
  readonly expiresAt: number;
  readonly notBefore: number;
  readonly issuedAt: number;
  /** Whether it was granted the scope that the service demands, or none is demanded. */
  readonly isInScope: boolean;
  /** Fingerprint of the key that signed it: when the issuer withdraws the key, the token goes with it. */
  readonly key: string;
}

/** Clocks may differ by so many seconds (RFC 7519 section 4.1.4). */
export const CLOCK_SKEW_SECONDS = 30;
/** 9999-12-31: a date beyond it is no date. */
const LAST_DATE = 253_402_300_799;

export const isDate = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= LAST_DATE;

/** Whether the token may be used at this moment. */
export const isInForce = ({ expiresAt, notBefore, issuedAt }: AccessToken, now: number): boolean =>
  now < expiresAt + CLOCK_SKEW_SECONDS &&
  notBefore <= now + CLOCK_SKEW_SECONDS &&
  issuedAt <= now + CLOCK_SKEW_SECONDS;

/** Types that access tokens come with. Common issuers send JWT, or none; RFC 9068 section 2.1 demands at+jwt. */
export const isAccessTokenType = ({ typ }: JWTHeaderParameters, demanded: string): boolean => {
  if (typ === undefined) return demanded === '';
  if (!isText(typ)) return false; // the types of a header are those of whoever made it
  const type = typ.toLowerCase().replace(/^application\//, '');
  return type === 'at+jwt' || (type === 'jwt' && demanded === '');
};

const OTHER_KINDS = new Set(['id', 'refresh', 'offline', 'logout']);

/**
 * Whether the claims are plainly those of another token of the same issuer: an ID token (at_hash, c_hash, s_hash; a nonce without anything that an
 * access token has), a logout token (events), or one that says so in `typ` (Keycloak) or `token_use` (Amazon Cognito).
 */
export function isAnotherKind(claims: JWTPayload): boolean {
  const said = [claims['typ'], claims['token_use']].map((kind) =>
    typeof kind === 'string' ? kind.toLowerCase() : '',
  );
  if (said.some((kind) => OTHER_KINDS.has(kind))) return true;
  if (['at_hash', 'c_hash', 's_hash', 'events'].some((claim) => claim in claims)) return true;
  return (
    'nonce' in claims &&
    !['scope', 'scp', 'client_id'].some((claim) => claim in claims) &&
    !said.includes('bearer')
  );
}

/** Whether the scope `wanted` is in `scope` (RFC 9068 section 2.2.3) or `scp` (a list or text, as some issuers send). */
export const hasScope = ({ scope, scp }: JWTPayload, wanted: string): boolean =>
  [scope, scp]
    .flat()
    .some((value) => typeof value === 'string' && value.split(' ').includes(wanted));

const isText = (value: unknown): value is string => typeof value === 'string';
