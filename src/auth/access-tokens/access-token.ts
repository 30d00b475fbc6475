import type { JWTPayload } from 'jose';
import type { Issuer } from '../issuers/issuer.js';

/** What is remembered of an access token whose signature, issuer and audience were verified. Times are seconds since the epoch. */
export interface AccessToken {
  readonly expiresAt: number;
  readonly notBefore: number;
  readonly issuedAt: number;
  /** Whether it was granted the scope that the service demands, or none is demanded. */
  readonly isInScope: boolean;
  readonly issuer: KeySource;
  /** Name of the key that signed it: when the issuer withdraws the key, the token goes with it. */
  readonly key: string;
}

/** What verifying a token needs of its issuer. */
export type KeySource = Pick<Issuer, 'keys' | 'lookFor'>;

/** Clocks may differ by so many seconds (RFC 7519 section 4.1.4). */
export const CLOCK_SKEW_SECONDS = 30;

/** Whether the token may be used at this moment. */
export const isInForce = ({ expiresAt, notBefore, issuedAt }: AccessToken, now: number): boolean =>
  now < expiresAt + CLOCK_SKEW_SECONDS &&
  notBefore <= now + CLOCK_SKEW_SECONDS &&
  issuedAt <= now + CLOCK_SKEW_SECONDS;

/** Whether the scope `wanted` is in `scope` (RFC 9068 section 2.2.3) or `scp` (a list or text, as some issuers send). */
export const hasScope = ({ scope, scp }: JWTPayload, wanted: string): boolean =>
  [scope, scp]
    .flat()
    .some((value) => typeof value === 'string' && value.split(' ').includes(wanted));
