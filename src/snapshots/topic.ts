import type { EntityManager } from 'typeorm';

/**
 * Parts of the content that change independently: codes (lists, properties, records) and API keys. A transaction that
 * changes one of them gives it another stamp.
 */
export type TopicName = 'codes' | 'keys';

/** How a topic is read from the database, kept in a file, and read from that. */
export interface Topic<T> {
  readonly name: TopicName;
  /** Locks its tables. Called first in the transaction: an older snapshot would see a truncated table as empty. */
  lock(manager: EntityManager): Promise<unknown>;
  /** @throws RefusedSnapshot if the content cannot be served */
  read(manager: EntityManager): Promise<T>;
  /** How long the value may be used after the database last confirmed it; Infinity if there is no limit. */
  readonly maxAgeSeconds: number;
  /** The value in a form for JSON. */
  toJson(value: T): unknown;
  /** @throws Error if it is not what `toJson` makes, or cannot be served */
  fromJson(json: unknown): T;
}

/** The content of the database cannot be served. Its message says why, for operators. */
export class RefusedSnapshot extends Error {}
