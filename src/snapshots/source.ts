import type { EntityManager } from 'typeorm';

/** Parts of the content that change independently: codes (lists, properties, records) and API keys. A transaction that changes one replaces its stamp. */
export type Topic = 'codes' | 'keys';

/** How a topic is read. */
export interface Source<T> {
  /** Locks its tables, as the first query of the transaction. */
  lock(manager: EntityManager): Promise<unknown>;
  /** @throws RefusedSnapshot if the content cannot be served */
  read(manager: EntityManager): Promise<T>;
  /** Whether callers get the same answers from both, now and later. */
  isEqual(one: T, other: T): boolean;
  /** When callers will be refused if the database stays away; undefined if they will not be. */
  callersRefusedAt?(): Date | undefined;
  /** Called after each look at the database, whether it succeeded or not. */
  checked?(): unknown;
}

/** The data that was read cannot be served; the former value stays. */
export class RefusedSnapshot extends Error {}
