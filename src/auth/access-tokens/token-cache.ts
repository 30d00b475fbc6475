import { tokenCacheEntries, tokenCacheLookups } from '../../telemetry/metrics.js';
import type { AccessToken } from './access-token.js';

const hits = tokenCacheLookups.labels({ result: 'hit' });
const misses = tokenCacheLookups.labels({ result: 'miss' });

/**
 * Tokens whose signature was verified, by a digest of the whole token. When it is full a new entry replaces the oldest one. Refused tokens are
 * not cached, and times are checked for every request.
 */
export class TokenCache {
  private readonly entries = new Map<string, AccessToken>();

  /** @param capacity how many entries are kept; each takes about 250 bytes */
  constructor(private readonly capacity = 5_000) {}

  get(digest: string): AccessToken | undefined {
    const token = this.entries.get(digest);
    (token ? hits : misses).inc();
    return token;
  }

  add(digest: string, token: AccessToken): void {
    if (this.entries.size >= this.capacity && !this.entries.has(digest))
      this.entries.delete(this.entries.keys().next().value as string);
    this.entries.set(digest, token);
    tokenCacheEntries.set(this.entries.size);
  }

  remove(digest: string): void {
    this.entries.delete(digest);
    tokenCacheEntries.set(this.entries.size);
  }
}
