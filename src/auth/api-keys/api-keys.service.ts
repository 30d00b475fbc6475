import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Configuration } from '../../configuration/configuration.js';
import { DatabaseClock } from '../../database/database-clock.js';
import { ApiKey } from '../../database/entities/api-key.entity.js';
import type { FollowedSnapshot } from '../../snapshots/followed-snapshot.js';
import { Metrics, measureOnScrape } from '../../telemetry/metrics.js';
import { SnapshotsService } from '../../snapshots/snapshots.service.js';
import type { Caller } from '../../http/service-request.js';
import { hasValidChecksum, hashApiKey } from './api-key.js';
import { KeyListAge } from './key-list-age.js';
import { KeyUse } from './key-use.js';
import { type Verdict, missing, refused, undecided, valid } from '../verdict.js';

export interface ListedKey extends Caller {
  /** Milliseconds since the epoch; Infinity if there is no such time. */
  readonly expiresAt: number;
  readonly revokedAt: number;
}

export type KeyList = ReadonlyMap<string, ListedKey>;

/** All API keys, in memory, by their hash. So every key works while the database is away, and a revocation takes effect at once. */
@Injectable()
export class ApiKeysService {
  readonly followed: FollowedSnapshot<KeyList>;
  /**
   * The keys of each list by the texts that were found in it: hashing every text took a twentieth of the CPU time of a request. Texts of other
   * keys are not kept, so a list has no more texts than keys.
   */
  private readonly found = new WeakMap<KeyList, Map<string, ListedKey>>();

  constructor(
    private readonly configuration: Configuration,
    private readonly clock: DatabaseClock,
    private readonly keyUse: KeyUse,
    listAge: KeyListAge,
    snapshots: SnapshotsService,
    { nextKeyExpiry }: Metrics,
  ) {
    measureOnScrape(nextKeyExpiry, () => nextKeyExpiry.set(this.secondsToNextExpiry));
    this.followed = snapshots.follow('keys', {
      lock,
      read,
      isEqual,
      checked: () => listAge.note(this.followed.age),
    });
  }

  /** @param key the Api-Key header, or undefined */
  verify(key: string | undefined): Verdict<Caller> {
    if (key === undefined || key === '') return missing;
    const listed = this.find(key);
    if (!listed && !hasValidChecksum(key)) return refused('malformed');
    const { obstacle } = this;
    if (obstacle !== undefined) return undecided('no-key-list', obstacle);
    if (!listed) return refused('unknown');
    const now = this.clock.now();
    if (listed.revokedAt <= now) return refused('revoked', listed);
    if (listed.expiresAt <= now) return refused('expired', listed);
    this.keyUse.note(listed.keyId);
    return valid(listed);
  }

  /** Why keys cannot be checked now, or undefined if they can. */
  get obstacle(): string | undefined {
    if (!this.followed.current) return 'The list of API keys has not been read yet.';
    return this.followed.age > this.configuration.API_KEY_MAX_AGE_SECONDS
      ? 'The list of API keys is too old.'
      : undefined;
  }

  /** Seconds until the first key in force ends; Infinity if none will. */
  private get secondsToNextExpiry(): number {
    const now = this.clock.now();
    const ends = [...(this.followed.current?.values() ?? [])]
      .map(({ expiresAt, revokedAt }) => Math.min(expiresAt, revokedAt))
      .filter((end) => end > now);
    return (Math.min(...ends) - now) / 1000;
  }

  private find(key: string): ListedKey | undefined {
    const list = this.followed.current;
    if (!list) return undefined;
    let found = this.found.get(list);
    if (!found) this.found.set(list, (found = new Map()));
    const known = found.get(key);
    if (known) return known;
    const listed = list.get(hashApiKey(key));
    if (listed) found.set(key, listed);
    return listed;
  }
}

const lock = (manager: EntityManager): Promise<unknown> =>
  manager.query('lock table public.api_key in access share mode');

async function read(manager: EntityManager): Promise<KeyList> {
  const keys = await manager.getRepository(ApiKey).find();
  return new Map(
    keys.map(({ id, client, keyHash, expiresAt, revokedAt }) => [
      keyHash.toString('hex'),
      { keyId: id, client, expiresAt, revokedAt },
    ]),
  );
}

const isEqual = (one: KeyList, other: KeyList): boolean => isDeepStrictEqual(one, other);
