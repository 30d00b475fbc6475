/** The answers about a credential, and its absence. A dependency that fails is `undecided`, never `refused`. */
export type Verdict<Holder> =
  | { readonly kind: 'valid'; readonly holder: Holder }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  | { readonly kind: 'undecided'; readonly detail: string }
  /** Nothing is wrong with what can be seen; nothing more was looked at. */
  | { readonly kind: 'unverified' };

/** Fixed words, for the metrics only: the caller is never told. */
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

/** What can be seen of a token to be wrong without any key. */
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
