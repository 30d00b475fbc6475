import type { EntityManager } from 'typeorm';
import { ApiKey } from '../../database/entities.js';
import type { Caller } from '../../http/request-context.js';
import { momentOf, momentToJson, objectsOf, textOf } from '../../snapshots/json-form.js';

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

export async function readKeys(manager: EntityManager): Promise<KeyList> {
  const keys = new Map<string, ListedKey>();
  for (const key of await manager.getRepository(ApiKey).find()) {
    const { id: keyId, client, expiresAt: expiresAtMs, revokedAt: revokedAtMs } = key;
    keys.set(key.keyHash.toString('hex'), { keyId, client, expiresAtMs, revokedAtMs });
  }
  return keys;
}

/** The keys as a file of LAST_GOOD_FOLDER holds them. */
export const keysToJson = (keys: KeyList): unknown =>
  Array.from(keys, ([keyHash, { keyId, client, expiresAtMs, revokedAtMs }]) => ({
    keyHash,
    keyId,
    client,
    expiresAtMs: momentToJson(expiresAtMs),
    revokedAtMs: momentToJson(revokedAtMs),
  }));

/** @throws Error if it is not what `keysToJson` makes */
export function keysFromJson(json: unknown): KeyList {
  const keys = new Map<string, ListedKey>();
  for (const { keyHash, keyId, client, expiresAtMs, revokedAtMs } of objectsOf(json)) {
    keys.set(textOf(keyHash), {
      keyId: textOf(keyId),
      client: textOf(client),
      expiresAtMs: momentOf(expiresAtMs, Infinity),
      revokedAtMs: momentOf(revokedAtMs, Infinity),
    });
  }
  return keys;
}
