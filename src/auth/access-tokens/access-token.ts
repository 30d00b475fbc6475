import type { JWTPayload, createLocalJWKSet } from 'jose';
import type { Issuer } from '../issuers/issuer.js';

/** What the cache keeps of an access token whose signature, issuer and audience were verified. Times are seconds since the epoch. */
export interface AccessToken {
  readonly expiresAt: number;
  readonly notBefore: number;
  readonly issuedAt: number;
  /** Whether it holds the required scope; true if none is required. */
  readonly isInScope: boolean;
  readonly issuer: KeySource;
  /** Thumbprint (RFC 7638) of the key that verified it. When the issuer withdraws that key, the token is refused. */
  readonly thumbprint: string;
}

/** What the verification of a token needs from its issuer. */
export interface KeySource extends Pick<Issuer, 'keys' | 'has'> {
  readonly resolve: ReturnType<typeof createLocalJWKSet>;
}

/** Tolerated difference between clocks, in seconds (RFC 7519 section 4.1.4). */
export const CLOCK_SKEW_SECONDS = 30;

/** Whether the token is valid at this time. */
export const isInForce = ({ expiresAt, notBefore, issuedAt }: AccessToken, now: number): boolean =>
  now < expiresAt + CLOCK_SKEW_SECONDS &&
  notBefore <= now + CLOCK_SKEW_SECONDS &&
  issuedAt <= now + CLOCK_SKEW_SECONDS;

/** Whether `wanted` is in `scope` (RFC 9068 section 2.2.3) or in `scp` (a list or a text; sent by some issuers). */
export const hasScope = ({ scope, scp }: JWTPayload, wanted: string): boolean =>
  [scope, scp]
    .flat()
    .some((value) => typeof value === 'string' && value.split(' ').includes(wanted));
