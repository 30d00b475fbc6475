import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Configuration } from '../../configuration/configuration.js';
import { DatabaseClock } from '../../database/database-clock.js';
import { ApiKey } from '../../database/entities.js';
import type { PolledSnapshot } from '../../snapshots/polled-snapshot.js';
import { Metrics } from '../../telemetry/metrics.js';
import { SnapshotsService } from '../../snapshots/snapshots.service.js';
import type { Caller } from '../../http/request-context.js';
import { hasValidChecksum, hashApiKey } from './api-key.js';
import { KeyUse } from './key-use.js';
import { type KeyVerdict, rejected } from '../fault.js';

export interface ListedKey extends Caller {
  /** Milliseconds since the epoch; Infinity if there is no such time. */
  readonly expiresAt: number;
  readonly revokedAt: number;
}

export type KeyList = ReadonlyMap<string, ListedKey>;

/** All API keys, in memory, by their hash. So every key works while the database is away, and a revocation takes effect at once. */
@Injectable()
export class ApiKeysService {
  readonly snapshot: PolledSnapshot<KeyList>;
  /** The keys of the list `foundIn` that were sent, by their text: to hash them each time takes 10 % of the CPU time of a 304. */
  private found = new Map<string, ListedKey>();
  private foundIn: KeyList | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly clock: DatabaseClock,
    private readonly keyUse: KeyUse,
    snapshots: SnapshotsService,
    metrics: Metrics,
  ) {
    metrics.addGauge({
      name: 'next_key_expiry_seconds',
      help: 'Until the first API key in force ends, or +Inf',
      collect: (gauge) => gauge.set(this.ending[0]?.seconds ?? Infinity),
    });
    this.snapshot = snapshots.poll('keys', {
      lock: (manager) => manager.query('lock table public.api_key in access share mode'),
      read,
      isEqual: (one: KeyList, other: KeyList) => isDeepStrictEqual(one, other),
      callersRefusedAt: () =>
        this.snapshot.current && new Date(Date.now() + this.secondsLeft * 1000),
    });
  }

  verify(key: string | undefined): KeyVerdict {
    if (key === undefined || key === '') return rejected({ reason: 'missing' });
    const listed = this.find(key);
    if (!listed && !hasValidChecksum(key)) return rejected({ reason: 'malformed' });
    const { obstacle: undecided } = this;
    if (undecided !== undefined)
      return rejected({ reason: 'no-key-list', undecided, owner: listed });
    if (!listed) return rejected({ reason: 'unknown' });
    const now = this.clock.now();
    if (listed.revokedAt <= now) return rejected({ reason: 'revoked', owner: listed });
    if (listed.expiresAt <= now) return rejected({ reason: 'expired', owner: listed });
    this.keyUse.note(listed.keyId);
    return { isAccepted: true, caller: listed };
  }

  private find(key: string): ListedKey | undefined {
    const list = this.snapshot.current;
    if (this.foundIn !== list) [this.found, this.foundIn] = [new Map(), list];
    const known = this.found.get(key);
    if (known) return known;
    const listed = list?.get(hashApiKey(key));
    if (listed) this.found.set(key, listed);
    return listed;
  }

  /** Why keys cannot be checked now. */
  get obstacle(): string | undefined {
    if (!this.snapshot.current) return 'The list of API keys has not been read yet.';
    return this.secondsLeft < 0 ? 'The list of API keys is too old.' : undefined;
  }

  /** For how long the list may be used if the database does not answer. */
  get secondsLeft(): number {
    return this.configuration.API_KEY_MAX_AGE_SECONDS - this.snapshot.age;
  }

  /** The keys in force that will end, in their order. */
  get ending(): readonly (Caller & { readonly seconds: number })[] {
    const now = this.clock.now();
    return [...(this.snapshot.current?.values() ?? [])]
      .map(({ keyId, client, expiresAt, revokedAt }) => {
        return { keyId, client, seconds: (Math.min(expiresAt, revokedAt) - now) / 1000 };
      })
      .filter(({ seconds }) => seconds > 0 && seconds < Infinity)
      .sort((one, other) => one.seconds - other.seconds);
  }
}

async function read(manager: EntityManager): Promise<KeyList> {
  const keys = await manager.getRepository(ApiKey).find();
  return new Map(
    keys.map(({ id, client, keyHash, expiresAt, revokedAt }) => [
      keyHash.toString('hex'),
      { keyId: id, client, expiresAt, revokedAt },
    ]),
  );
}
