import { Injectable } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { DatabaseClock } from '../../database/database-clock.js';
import type { PolledSnapshot } from '../../snapshots/polled-snapshot.js';
import { SnapshotsService } from '../../snapshots/snapshots.service.js';
import { type KeyVerdict, refused, undecided } from '../verdict.js';
import { hasValidChecksum, hashApiKey } from './api-key.js';
import { type KeyList, lockKeys, readKeys } from './key-list.js';
import { KeyUse } from './key-use.js';

/** Verifies API keys in memory. So every key works while the database is away, and a revocation counts at once. */
@Injectable()
export class ApiKeysService {
  readonly polled: PolledSnapshot<KeyList>;
  private readonly maxAgeSeconds: number;

  constructor(
    configuration: Configuration,
    private readonly clock: DatabaseClock,
    private readonly keyUse: KeyUse,
    snapshots: SnapshotsService,
  ) {
    this.maxAgeSeconds = configuration.API_KEY_MAX_AGE_SECONDS;
    this.polled = snapshots.add<KeyList>({
      name: 'keys',
      maxAgeSeconds: this.maxAgeSeconds,
      lock: lockKeys,
      read: readKeys,
    });
  }

  /** @param key as it was sent, or undefined if none was */
  verify(key: string | undefined): KeyVerdict {
    if (key === undefined || key === '') return refused('missing');
    const listed = this.polled.value?.get(hashApiKey(key));
    if (!listed && !hasValidChecksum(key)) return refused('malformed');
    const { unavailableReason } = this;
    if (unavailableReason !== undefined) return undecided('no-key-list', unavailableReason, listed);
    if (!listed) return refused('unknown');
    const nowMs = this.clock.now();
    if (listed.revokedAtMs <= nowMs) return refused('revoked', listed);
    if (listed.expiresAtMs <= nowMs) return refused('expired', listed);
    this.keyUse.note(listed.keyId);
    return { isAccepted: true, caller: listed };
  }

  /** The sentence that says why keys cannot be checked now, or undefined. */
  get unavailableReason(): string | undefined {
    if (!this.polled.value) return 'The list of API keys has not been read yet.';
    if (this.secondsUntilRefusal === 0) return 'The list of API keys is too old.';
    return undefined;
  }

  /** How long keys can still be accepted if the database does not answer; 0 while none can be. */
  get secondsUntilRefusal(): number {
    return Math.max(0, this.maxAgeSeconds - this.polled.ageSeconds);
  }

  /** The time until the first key in force expires or is revoked; Infinity if none will be. */
  get secondsUntilNextExpiry(): number {
    const nowMs = this.clock.now();
    let nextMs = Infinity;
    for (const { expiresAtMs, revokedAtMs } of this.polled.value?.values() ?? []) {
      const endsAtMs = Math.min(expiresAtMs, revokedAtMs);
      if (endsAtMs > nowMs) nextMs = Math.min(nextMs, endsAtMs);
    }
    return (nextMs - nowMs) / 1000;
  }
}
