import type { EntityManager } from 'typeorm';
import { ApiKey } from '../../database/entities.js';
import type { Caller } from '../../http/request-context.js';
import type { ReadResult } from '../../snapshots/topic.js';

export interface ListedKey extends Caller {
  /** In milliseconds since the epoch, like `revokedAtMs`; Infinity if there is no such time. */
  readonly expiresAtMs: number;
  readonly revokedAtMs: number;
}

/** All API keys, by their hash in hex, those that have ended among them. */
export type KeyList = ReadonlyMap<string, ListedKey>;

/** Called first in the transaction of a reading. */
export const lockKeys = (manager: EntityManager): Promise<unknown> =>
  manager.query('lock table public.api_key in access share mode');

/** Every list of keys can be served, also an empty one. */
export async function readKeys(manager: EntityManager): Promise<ReadResult<KeyList>> {
  const rows = await manager.getRepository(ApiKey).find();
  const keys = new Map<string, ListedKey>();
  for (const { id: keyId, client, keyHash, expiresAtMs, revokedAtMs } of rows) {
    keys.set(keyHash.toString('hex'), { keyId, client, expiresAtMs, revokedAtMs });
  }
  return { isServable: true, value: keys };
}
