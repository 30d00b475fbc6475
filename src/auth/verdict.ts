import type { Caller } from '../http/request-context.js';

/** Why a credential is refused: the words of the metric and the log. A caller is never told them. */
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
  | 'algorithm'
  | 'critical'
  | 'key-id'
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

interface NotAccepted {
  readonly isAccepted: false;
  readonly reason: RefusalReason;
  /** The caller that the API key belongs to, if it is one of ours: for the log. */
  readonly owner?: Caller | undefined;
}

/** The credential is not valid. */
export interface Refused extends NotAccepted {
  readonly isDecided: true;
}

/** The credential may be valid, but the service lacks what it needs to decide. */
export interface Undecided extends NotAccepted {
  readonly isDecided: false;
  /** The sentence that tells the caller what the service lacks. */
  readonly explanation: string;
}

export type KeyVerdict = { readonly isAccepted: true; readonly caller: Caller } | Refused | Undecided;
export type TokenVerdict = { readonly isAccepted: true } | Refused | Undecided;

export function refused(reason: RefusalReason, owner?: Caller): Refused {
  return { isAccepted: false, isDecided: true, reason, owner };
}

export function undecided(reason: RefusalReason, explanation: string, owner?: Caller): Undecided {
  return { isAccepted: false, isDecided: false, reason, explanation, owner };
}
