import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Configuration } from '../../configuration/configuration.js';
import { DatabaseClock } from '../../database/database-clock.js';
import { ApiKey } from '../../database/entities/api-key.entity.js';
import { type FollowedSnapshot, type Reading } from '../../snapshots/followed-snapshot.js';
import { RefusedSnapshot } from '../../snapshots/refused-snapshot.js';
import { SnapshotsService } from '../../snapshots/snapshots.service.js';
import { readIdentity } from '../../snapshots/content-identity.js';
import { readTransaction } from '../../database/read-transaction.js';
import type { Caller } from '../../http/service-request.js';
import { hasValidChecksum, hashApiKey } from './api-key.js';
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
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly configuration: Configuration,
    private readonly clock: DatabaseClock,
    private readonly keyUse: KeyUse,
    snapshots: SnapshotsService,
  ) {
    this.followed = snapshots.follow('keys', { read: () => this.read(), isEqual });
  }

  /** @param key the Api-Key header, or undefined */
  verify(key: string | undefined): Verdict<Caller> {
    if (key === undefined || key === '') return missing;
    const listed = this.find(key);
    if (!listed && !hasValidChecksum(key)) return refused('malformed');
    const { obstacle } = this;
    if (obstacle !== undefined) return undecided(obstacle);
    if (!listed) return refused('unknown');
    const now = this.clock.now();
    if (listed.revokedAt <= now) return refused('revoked');
    if (listed.expiresAt <= now) return refused('expired');
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

  private read(): Promise<Reading<KeyList>> {
    return readTransaction(this.dataSource, async (manager) => {
      const identity = await readIdentity(manager, 'keys');
      const rows = await manager
        .getRepository(ApiKey)
        .createQueryBuilder('k')
        .select('k.id', 'keyId')
        .addSelect('k.client', 'client')
        .addSelect(`encode(k.keyHash, 'hex')`, 'hash')
        // Times as numbers: the text form of a timestamp depends on the session
        .addSelect(`extract(epoch from k.expiresAt) * 1000`, 'expiresAt')
        .addSelect(`extract(epoch from k.revokedAt) * 1000`, 'revokedAt')
        .getRawMany<KeyRow>();
      return { identity, value: new Map(rows.map((row) => [row.hash, listed(row)])) };
    });
  }
}

interface KeyRow {
  readonly keyId: string;
  readonly client: string;
  readonly hash: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

const listed = ({ keyId, client, expiresAt, revokedAt }: KeyRow): ListedKey => ({
  keyId,
  client,
  expiresAt: momentOf(expiresAt),
  revokedAt: momentOf(revokedAt),
});

/** @throws RefusedSnapshot if a time is not a number: the key must not count as one without an end */
function momentOf(text: string | null): number {
  if (text === null || text === 'Infinity') return Infinity;
  const moment = text === '-Infinity' ? -Infinity : Number(text || NaN);
  if (Number.isNaN(moment))
    throw new RefusedSnapshot(`api_key holds "${text}" where a time is needed`);
  return moment;
}

const isEqual = (one: KeyList, other: KeyList): boolean =>
  one.size === other.size &&
  [...one].every(([hash, key]) => JSON.stringify(key) === JSON.stringify(other.get(hash)));
