import { BoundedMap } from './bounded-map.js';
import { tokenCacheEntries, tokenCacheLookups } from '../../telemetry/metrics.js';
import type { AccessToken } from './access-token.js';

/** How many entries are kept; each takes about 250 bytes. */
const CAPACITY = 5_000;

const hits = tokenCacheLookups.labels({ result: 'hit' });
const misses = tokenCacheLookups.labels({ result: 'miss' });

/** Tokens whose signature was verified, by a digest of the whole token. Refused tokens are not cached, and times are checked for every request. */
export class TokenCache {
  private readonly entries = new BoundedMap<string, AccessToken>(CAPACITY);

  get(digest: string): AccessToken | undefined {
    const token = this.entries.get(digest);
    (token ? hits : misses).inc();
    return token;
  }

  add(digest: string, token: AccessToken): void {
    this.entries.set(digest, token);
    tokenCacheEntries.set(this.entries.size);
  }

  remove(digest: string): void {
    this.entries.delete(digest);
    tokenCacheEntries.set(this.entries.size);
  }
}
