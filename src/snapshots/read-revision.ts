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

export const IDENTITY_COLUMNS = 'topic, transactions, stamps, state';

/** An identity as one word. */
export const revisionOf = ({ transactions, stamps, state }: Identity): string =>
  `${transactions} ${stamps} ${state}`;

/** The identity of a topic's content, as of the transaction of `manager`. */
export async function readIdentity(manager: EntityManager, topic: Topic): Promise<Identity> {
  const [identity] = await manager.query<Identity[]>(
    `select ${IDENTITY_COLUMNS} from content_identity where topic = $1`,
    [topic],
  );
  if (!identity)
    throw new Error(`the table revision has no row for ${topic}: apply the migrations`);
  return identity;
}
