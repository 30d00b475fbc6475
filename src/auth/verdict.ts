/** The client that an API key belongs to. */
export interface Caller {
  readonly keyId: string;
  readonly client: string;
}

/**
 * Dashboards use these names, so never rename a reason. If you add a reason, add a row to docs/at-night.md. For a
 * reason without an entry in TOKEN_REMEDIES (refused-credentials.ts), the doctor advises to ask for a new token.
 */
export type RefusalReason =
  // for both credentials
  | 'missing'
  | 'repeated'
  | 'malformed'
  | 'expired'
  // for an API key
  | 'unknown'
  | 'revoked'
  | 'no-key-list'
  // for an access token
  | 'scheme'
  | 'too-long'
  | 'not-a-jwt'
  | 'algorithm'
  | 'critical' // the header parameter `crit`
  | 'type' // the header parameter `typ`
  | 'issuer'
  | 'audience'
  | 'client' // not in OAUTH_CLIENTS
  | 'another-kind' // another kind of token, such as an ID token
  | 'no-expiry'
  | 'not-before'
  | 'claims' // a claim has a wrong type
  | 'signature'
  | 'unknown-key'
  | 'scope'
  | 'no-signing-keys'
  | 'signing-keys-not-fetched';

/** The result of checking a credential. `T` is the type of `value`, which only an accepted credential has. */
export type Verdict<T> = Accepted<T> | NotAccepted;
export type NotAccepted = Refused | Undecided;

interface Accepted<T> {
  readonly outcome: 'accepted';
  readonly value: T;
}

/** The client to which a refused credential belongs, for the log. */
interface RefusedClients {
  /** The client of the API key, if the key is in our list (also if it is revoked or expired). */
  readonly owner?: Caller | undefined;
  /** The client that an access token names, if its signature was verified. */
  readonly tokenClient?: string | undefined;
}

interface Refused extends RefusedClients {
  readonly outcome: 'refused';
  readonly reason: RefusalReason;
}

/** The verdict if the service lacks what it needs to decide, such as the issuer's keys. The credential may be valid. */
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

export function refused(reason: RefusalReason, clients: RefusedClients = {}): Refused {
  return { outcome: 'refused', reason, ...clients };
}

export function undecided(
  reason: RefusalReason,
  explanation: string,
  clients: Pick<RefusedClients, 'owner'> = {},
): Undecided {
  return { outcome: 'undecided', reason, explanation, ...clients };
}
