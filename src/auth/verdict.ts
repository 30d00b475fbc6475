/** The result of checking a credential. If something that the check needs is missing, it is `undecided`, never `refused`. */
export type Verdict<Holder> =
  | { readonly kind: 'valid'; readonly holder: Holder }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  | { readonly kind: 'undecided'; readonly detail: string }
  /** No fault was found without verifying the signature, and the signature was not verified. */
  | { readonly kind: 'unverified' };

/** A fixed set of words, for metrics only. Callers never get the reason. */
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

export const missing = { kind: 'missing' } as const;
export const unverified = { kind: 'unverified' } as const;
export const valid = <Holder>(holder: Holder): Verdict<Holder> => ({ kind: 'valid', holder });
export const refused = (reason: RefusalReason): Verdict<never> => ({ kind: 'refused', reason });
export const undecided = (detail: string): Verdict<never> => ({ kind: 'undecided', detail });
