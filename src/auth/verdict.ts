import type { Caller } from '../http/request-log.js';

/**
 * Why a credential is refused: the words of the metric and the log. A caller is never told them. Dashboards and
 * docs/at-night.md go by them: none is renamed, and a new one gets a row there and, where another token does not help, a
 * remedy in administration/refused-credentials.ts.
 */
export type RefusalReason =
  // of both credentials
  | 'missing'
  | 'malformed'
  | 'expired'
  // of an API key
  | 'unknown'
  | 'revoked'
  | 'no-key-list'
  // of an access token
  | 'scheme'
  | 'too-long'
  | 'not-a-jwt'
  | 'algorithm'
  | 'critical'
  | 'type'
  | 'issuer'
  | 'audience'
  | 'client'
  | 'another-kind'
  | 'no-expiry'
  | 'not-before'
  | 'claims'
  | 'signature'
  | 'unknown-key'
  | 'scope'
  | 'no-signing-keys'
  | 'signing-keys-not-fetched';

/** What comes of checking a credential, or a part of it. `T` is what an accepted one gives. */
export type Verdict<T> = Accepted<T> | NotAccepted;
export type NotAccepted = Refused | Undecided;

interface Accepted<T> {
  readonly outcome: 'accepted';
  readonly value: T;
}

/** The credential is not valid. */
interface Refused {
  readonly outcome: 'refused';
  readonly reason: RefusalReason;
  /** The caller that the API key belongs to, if it is one of ours: for the log. */
  readonly owner?: Caller | undefined;
}

/** The credential may be valid, but the service lacks what it needs to decide. */
export interface Undecided {
  readonly outcome: 'undecided';
  readonly reason: RefusalReason;
  /** The sentence that tells the caller what the service lacks. */
  readonly explanation: string;
  readonly owner?: Caller | undefined;
}

export function accepted<T>(value: T): Accepted<T> {
  return { outcome: 'accepted', value };
}

export function refused(reason: RefusalReason, owner?: Caller): Refused {
  return { outcome: 'refused', reason, owner };
}

export function undecided(reason: RefusalReason, explanation: string, owner?: Caller): Undecided {
  return { outcome: 'undecided', reason, explanation, owner };
}
