// The identity of a topic's content. Every transaction that changes it leaves a random stamp, so that no two contents ever have the same
// identity, whatever was restored or lost; and what a set of transactions made of one content can be proved by their stamps.
import type { EntityManager } from 'typeorm';

/** What can change by itself: the codes (lists, properties, records), and the API keys. */
export type Topic = 'codes' | 'keys';

/** The row of content_identity for a topic. Two contents are the same where all of it is. */
export interface Identity {
  readonly topic: Topic;
  /** How many transactions changed it. */
  readonly transactions: string;
  /** The exclusive or of their random stamps: a signed 64-bit number. */
  readonly stamps: string;
  /** The state of the tables and triggers that the record of changes depends on. */
  readonly state: string;
}

export const IDENTITIES = 'select topic, transactions, stamps, state from content_identity';

/** Whether the same transactions led to both, as far as they left a stamp. */
export const haveSameStamps = (one: Identity, other: Identity): boolean =>
  one.transactions === other.transactions && one.stamps === other.stamps;

export const isSame = (one: Identity, other: Identity): boolean =>
  haveSameStamps(one, other) && one.state === other.state;

/** The identity of a topic's content, as of the transaction of `manager`. */
export async function readIdentity(manager: EntityManager, topic: Topic): Promise<Identity> {
  const [identity] = await manager.query<Identity[]>(`${IDENTITIES} where topic = $1`, [topic]);
  if (!identity)
    throw new Error(
      `the table revision has no row for ${topic}: apply the migrations (migrate up), which raises every topic`,
    );
  return identity;
}
