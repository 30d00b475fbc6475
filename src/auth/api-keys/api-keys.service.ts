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
  /** In milliseconds since the epoch, like `revokedAtMs`; Infinity if there is no such time. */
  readonly expiresAtMs: number;
  readonly revokedAtMs: number;
}

/** All API keys, by their hash in hex, the expired and revoked ones among them. */
export type KeyList = ReadonlyMap<string, ListedKey>;

/**
 * Verifies API keys in memory. So keys work while the database is away, for API_KEY_MAX_AGE_SECONDS; a revocation counts
 * within a second.
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
    // This gauge warns administrators before a key ends
    metrics.addGauge({
      name: 'next_key_expiry_seconds',
      help: 'Until the first API key in force expires or is revoked, or +Inf',
      collect: (gauge) => gauge.set(this.secondsUntilNextExpiry),
    });
  }

  /** @param key the header Api-Key, or undefined if it was not sent */
  verify(key: string | undefined): Verdict<Caller> {
    if (!key) return refused('missing'); // also an empty header
    if (key.includes(',')) return this.refuseRepeated(key);
    const listed = this.topic.value?.get(hashApiKey(key));
    if (!listed && !hasValidChecksum(key)) return refused('malformed'); // a listed key is accepted in any form
    const { unavailableReason } = this;
    if (unavailableReason !== undefined) return undecided('no-key-list', unavailableReason, listed);
    if (!listed) return refused('unknown');
    const nowMs = this.clock.now();
    if (listed.revokedAtMs <= nowMs) return refused('revoked', { owner: listed });
    if (listed.expiresAtMs <= nowMs) return refused('expired', { owner: listed });
    this.keyUse.note(listed.keyId);
    return accepted(listed);
  }

  /** Refuses a header that was sent twice: Node.js joins its lines with commas. Only the first key is looked up. */
  private refuseRepeated(header: string): Verdict<Caller> {
    const firstKey = header.slice(0, header.indexOf(','));
    return refused('repeated', { owner: this.topic.value?.get(hashApiKey(firstKey)) });
  }

  /** The sentence that says why keys cannot be checked now, or undefined. */
  get unavailableReason(): string | undefined {
    if (!this.topic.value) return 'The list of API keys has not been read yet.';
    if (this.secondsUntilRefusal === 0) return 'The list of API keys is too old.';
    return undefined;
  }

  /** How long keys can still be accepted if the database does not answer; 0 while none can be. */
  get secondsUntilRefusal(): number {
    return Math.max(0, this.maxAgeSeconds - this.topic.ageSeconds);
  }

  /** The time until the first key in force expires or is revoked; Infinity if none will be. */
  private get secondsUntilNextExpiry(): number {
    const nowMs = this.clock.now();
    let nextMs = Infinity;
    for (const { expiresAtMs, revokedAtMs } of this.topic.value?.values() ?? []) {
      const endsAtMs = Math.min(expiresAtMs, revokedAtMs);
      if (endsAtMs > nowMs) nextMs = Math.min(nextMs, endsAtMs);
    }
    return (nextMs - nowMs) / 1000;
  }
}

/** Every list of keys can be served, also an empty one. */
function indexKeys(rows: readonly ApiKey[]): KeyList {
  const keys = new Map<string, ListedKey>();
  for (const { id: keyId, client, keyHash, expiresAtMs, revokedAtMs } of rows) {
    keys.set(keyHash.toString('hex'), { keyId, client, expiresAtMs, revokedAtMs });
  }
  return keys;
}
