/** The three answers about a credential, and its absence. A dependency that fails is `undecided`, never `refused`. */
export type Verdict<Holder> =
  | { readonly kind: 'valid'; readonly holder: Holder }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  | { readonly kind: 'undecided'; readonly detail: string };

/** Fixed words, for the metrics only: the caller is never told. */
export type RefusalReason =
  | 'missing'
  | 'malformed'
  | 'unknown'
  | 'expired'
  | 'revoked'
  | 'signature'
  | 'claims'
  | 'not-an-access-token'
  | 'scope'
  | 'scheme';

export const missing = { kind: 'missing' } as const;
export const valid = <Holder>(holder: Holder): Verdict<Holder> => ({ kind: 'valid', holder });
export const refused = (reason: RefusalReason): Verdict<never> => ({ kind: 'refused', reason });
export const undecided = (detail: string): Verdict<never> => ({ kind: 'undecided', detail });
