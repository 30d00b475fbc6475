import type { Caller } from '../http/request-context.js';

export interface Fault {
  /** One of a set of fixed words, for metrics and the log only. Callers never get it. */
  readonly reason: string;
  /** Set if the credential may be valid, but cannot be checked now: what the caller is told. */
  readonly undecided?: string;
  /** Whose API key it is, for the log: set if it is one of ours. */
  readonly owner?: Caller | undefined;
}

interface Rejected {
  readonly isAccepted: false;
  readonly fault: Fault;
}

export type KeyVerdict = Rejected | { readonly isAccepted: true; readonly caller: Caller };
export type TokenVerdict = Rejected | { readonly isAccepted: true };

export const rejected = (fault: Fault): Rejected => ({ isAccepted: false, fault });
