import type { Caller } from '../http/service-request.js';

/** The result of checking a credential. If something that the check needs is missing, it is `undecided`, never `refused`. */
export type Verdict<Holder> =
  | { readonly kind: 'valid'; readonly holder: Holder }
  | { readonly kind: 'missing' }
  /** `owner` is whose API key it is, for the log: set if it is one of ours. */
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly owner?: Caller }
  | { readonly kind: 'undecided'; readonly reason: UndecidedReason; readonly detail: string }
  /** No fault was found without verifying the signature, and the signature was not verified. */
  | { readonly kind: 'unverified' };

/** A fixed set of words, for metrics and the log only. Callers never get the reason. */
export type RefusalReason =
  // of an API key
  | 'unknown'
  | 'expired'
  | 'revoked'
  // of an access token as well
  | 'malformed'
  | 'scheme'
  | 'scope'
  | 'signature'
  | 'unknown-key'
  | TokenFault;

/** Faults of a token that can be found without a key. */
export type TokenFault =
  | 'algorithm'
  | 'critical'
  | 'key-id'
  | 'type'
  | 'issuer'
  | 'audience'
  | 'no-expiry'
  | 'expired'
  | 'not-before'
  | 'issued-at'
  | 'another-kind';

/** What the check lacks: a list of API keys that is young enough; signing keys; a fetch of the signing keys since a key id was first seen. */
export type UndecidedReason = 'no-key-list' | 'no-signing-keys' | 'signing-keys-not-fetched';

export const missing = { kind: 'missing' } as const;
export const unverified = { kind: 'unverified' } as const;
export const valid = <Holder>(holder: Holder): Verdict<Holder> => ({ kind: 'valid', holder });
export const refused = (reason: RefusalReason, owner?: Caller): Verdict<never> => ({
  kind: 'refused',
  reason,
  ...(owner ? { owner } : {}),
});
export const undecided = (reason: UndecidedReason, detail: string): Verdict<never> => ({
  kind: 'undecided',
  reason,
  detail,
});
