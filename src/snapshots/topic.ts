import type { EntityManager } from 'typeorm';

/**
 * Parts of the content that change independently: codes (lists, properties, records) and API keys. A transaction that
 * changes one of them gives it another stamp.
 */
export type TopicName = 'codes' | 'keys';

/** What came of a reading that got all rows. The reason is for operators. */
export type ReadResult<T> =
  { readonly isServable: true; readonly value: T } | { readonly isServable: false; readonly reason: string };

/** How a topic is read from the database. */
export interface Topic<T> {
  readonly name: TopicName;
  /** Locks its tables. Called first in the transaction: an older snapshot would see a truncated table as empty. */
  lock(manager: EntityManager): Promise<unknown>;
  /** @throws Error if the rows could not be read */
  read(manager: EntityManager): Promise<ReadResult<T>>;
  /** How long the value may be used after the database last confirmed it; Infinity if there is no limit. */
  readonly maxAgeSeconds: number;
}
