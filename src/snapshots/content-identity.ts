// The identity of a topic's content. Each transaction that changes the content leaves a random stamp, so two contents never have the same
// identity, whatever was restored or lost. The stamps also prove that a set of transactions leads from one content to another.
import type { EntityManager } from 'typeorm';

/** Parts of the content that change independently: the codes (lists, properties, records) and the API keys. */
export type Topic = 'codes' | 'keys';

/** The row of content_identity for a topic. Two contents are the same if all columns are equal. */
export interface Identity {
  readonly topic: Topic;
  /** The number of transactions that changed it. */
  readonly transactions: string;
  /** The exclusive or of their random stamps: a signed 64-bit number. */
  readonly stamps: string;
  /** The state of the tables and triggers that the record of changes depends on. */
  readonly state: string;
}

export const IDENTITIES = 'select topic, transactions, stamps, state from content_identity';

/** Whether both are the result of the same transactions, as far as those left a stamp. */
export const haveSameStamps = (one: Identity, other: Identity): boolean =>
  one.transactions === other.transactions && one.stamps === other.stamps;

export const isSame = (one: Identity, other: Identity): boolean =>
  haveSameStamps(one, other) && one.state === other.state;

/** The identity of a topic's content, as seen by the transaction of `manager`. */
export async function readIdentity(manager: EntityManager, topic: Topic): Promise<Identity> {
  const [identity] = await manager.query<Identity[]>(`${IDENTITIES} where topic = $1`, [topic]);
  if (!identity)
    throw new Error(
      `the table revision has no row for ${topic}: apply the migrations (migrate up), which adds one`,
    );
  return identity;
}
