import { Injectable } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { ApiKey } from '../../database/entities.js';
import { API_KEY } from '../../database/tables.js';
import { DatabaseClock } from '../../following/database-clock.js';
import type { FollowedTopic } from '../../following/followed-topic.js';
import { FollowingService } from '../../following/following.service.js';
import { Metrics } from '../../telemetry/metrics.js';
import { type Caller, type Verdict, accepted, refused, undecided } from '../verdict.js';
import { hasValidChecksum, hashApiKey } from './api-key.js';
import { KeyUse } from './key-use.js';

export interface ListedKey extends Caller {
  /** Milliseconds since the epoch; Infinity if the key never expires. */
  readonly expiresAtMs: number;
  /** Milliseconds since the epoch; Infinity if the key was not revoked. */
  readonly revokedAtMs: number;
}

/** All API keys, including expired and revoked keys. */
export class KeyList {
  /** The listed keys that callers have sent, by their text. A hash for each request would take 6 % of its CPU time. */
  private readonly sentKeys = new Map<string, ListedKey>();

  /** @param keysByHash the keys by their SHA-256 in hex */
  constructor(private readonly keysByHash: ReadonlyMap<string, ListedKey>) {}

  find(key: string): ListedKey | undefined {
    const known = this.sentKeys.get(key);
    if (known) return known;
    const listed = this.findByHash(key);
    if (listed) this.sentKeys.set(key, listed); // never an unknown key: strangers could fill the memory
    return listed;
  }

  /** Use it for a part of a header: if `find` remembered the part, V8 would keep the whole header in memory. */
  findByHash(key: string): ListedKey | undefined {
    return this.keysByHash.get(hashApiKey(key));
  }

  get all(): Iterable<ListedKey> {
    return this.keysByHash.values();
  }
}

/**
 * Verifies API keys in memory. A revoked key is refused within a second. While the database is away, keys are accepted
 * for API_KEY_MAX_AGE_SECONDS.
 */
@Injectable()
export class ApiKeysService {
  readonly topic: FollowedTopic<KeyList>;
  private readonly maxAgeSeconds: number;

  constructor(
    configuration: Configuration,
    private readonly clock: DatabaseClock,
    private readonly keyUse: KeyUse,
    following: FollowingService,
    metrics: Metrics,
  ) {
    this.maxAgeSeconds = configuration.API_KEY_MAX_AGE_SECONDS;
    this.topic = following.follow<KeyList, ApiKey[]>({
      name: 'keys',
      tables: [API_KEY],
      read: (manager) => manager.getRepository(ApiKey).find(),
      prepare: indexKeys,
      maxAgeSeconds: this.maxAgeSeconds,
    });
    metrics.addGauge({
      name: 'next_key_expiry_seconds',
      help: 'Seconds until the next valid API key expires or is revoked; +Inf if no valid key does',
      collect: (gauge) => gauge.set(this.secondsUntilNextExpiry),
    });
  }

  verify(key: string | undefined): Verdict<Caller> {
    if (!key) return refused('missing'); // also an empty header
    if (key.includes(',')) return this.refuseRepeated(key);
    const listed = this.topic.value?.find(key);
    // A listed key may have any form, because somebody may have added it by SQL
    if (!listed && !hasValidChecksum(key)) return refused('malformed');
    const { unavailableReason } = this;
    if (unavailableReason !== undefined) return undecided('no-key-list', unavailableReason, { owner: listed });
    if (!listed) return refused('unknown');
    const nowMs = this.clock.now();
    if (listed.revokedAtMs <= nowMs) return refused('revoked', { owner: listed });
    if (listed.expiresAtMs <= nowMs) return refused('expired', { owner: listed });
    this.keyUse.note(listed.keyId);
    return accepted(listed);
  }

  /** Refuses a header that was sent twice: Node.js joins the values by a comma. The log names the first key's owner. */
  private refuseRepeated(header: string): Verdict<Caller> {
    const firstKey = header.slice(0, header.indexOf(','));
    return refused('repeated', { owner: this.topic.value?.findByHash(firstKey) });
  }

  get unavailableReason(): string | undefined {
    if (!this.topic.value) return 'The list of API keys has not been read yet.';
    if (this.secondsUntilRefusal === 0) return 'The list of API keys is too old.';
    return undefined;
  }

  /** The seconds for which keys are still accepted if the database stays away; 0 if no key is accepted now. */
  get secondsUntilRefusal(): number {
    return Math.max(0, this.maxAgeSeconds - this.topic.ageSeconds);
  }

  private get secondsUntilNextExpiry(): number {
    const nowMs = this.clock.now();
    let nextMs = Infinity;
    for (const { expiresAtMs, revokedAtMs } of this.topic.value?.all ?? []) {
      const endsAtMs = Math.min(expiresAtMs, revokedAtMs);
      if (endsAtMs > nowMs) nextMs = Math.min(nextMs, endsAtMs);
    }
    return (nextMs - nowMs) / 1000;
  }
}

/** Indexes the keys by their hash. An empty list is valid: with it every key is refused. */
function indexKeys(rows: readonly ApiKey[]): KeyList {
  const keys = new Map<string, ListedKey>();
  for (const { id: keyId, client, keyHash, expiresAtMs, revokedAtMs } of rows) {
    keys.set(keyHash.toString('hex'), { keyId, client, expiresAtMs, revokedAtMs });
  }
  return new KeyList(keys);
}
