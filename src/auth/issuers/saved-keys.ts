import { createHash } from 'node:crypto';
import type { JSONWebKeySet } from 'jose';
import type { LastGoodFile } from '../../snapshots/last-good-folder.js';

/** What an issuer saves in LAST_GOOD_FOLDER. */
export interface SavedKeys {
  readonly keySet: JSONWebKeySet;
  /** When the keys were fetched, in milliseconds since the epoch. */
  readonly fetchedAt: number;
}

/** Names that differ only in signs get files of their own by the digest. */
export function fileOf(issuer: string): LastGoodFile {
  const readable = issuer.replaceAll(/[^A-Za-z0-9.]+/g, '-').slice(0, 80);
  const digest = createHash('sha256').update(issuer).digest('hex').slice(0, 8);
  return { name: `issuer-${readable}-${digest}`, source: issuer };
}

/** The form only. jose judges the key set. */
export function isSavedKeys(content: unknown): content is SavedKeys {
  if (typeof content !== 'object' || content === null) return false;
  const { keySet, fetchedAt } = content as Partial<SavedKeys>;
  return typeof keySet === 'object' && keySet !== null && typeof fetchedAt === 'number';
}
