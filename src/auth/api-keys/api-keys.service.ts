import { Inject, Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Configuration } from '../../configuration/configuration.js';
import { DatabaseClock } from '../../database/database-clock.js';
import { ApiKey } from '../../database/entities/api-key.entity.js';
import { FollowedSnapshot, type Reading } from '../../snapshots/followed-snapshot.js';
import { readIdentity, revisionOf } from '../../snapshots/read-revision.js';
import { readTransaction } from '../../database/read-transaction.js';
import type { Caller } from '../../http/service-request.js';
import { LOG, type Log } from '../../telemetry/log.js';
import { hasValidChecksum, hashApiKey } from './api-key.js';
import { type Verdict, missing, refused, undecided, valid } from '../verdict.js';

interface ListedKey extends Caller {
  /** Milliseconds since the epoch; Infinity where it never happens. */
  readonly expiresAt: number;
  readonly revokedAt: number;
}

type KeyList = ReadonlyMap<string, ListedKey>;

/** All API keys by their hash, held in memory: no key is cold when the database is away, and a revocation counts for each at once. */
@Injectable()
export class ApiKeysService {
  readonly followed: FollowedSnapshot<KeyList>;

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly configuration: Configuration,
    private readonly clock: DatabaseClock,
    @Inject(LOG) log: Log,
  ) {
    this.followed = new FollowedSnapshot('keys', () => this.read(), log);
  }

  /** @param key the Api-Key header, or undefined where there is none */
  verify(key: string | undefined): Verdict<Caller> {
    if (key === undefined || key === '') return missing;
    const list = this.followed.current;
    const listed = list?.get(hashApiKey(key));
    if (!listed && !hasValidChecksum(key)) return refused('malformed');
    const { obstacle } = this;
    if (obstacle !== undefined) return undecided(obstacle);
    if (!listed) return refused('unknown');
    const now = this.clock.now();
    if (listed.revokedAt <= now) return refused('revoked');
    return listed.expiresAt <= now ? refused('expired') : valid(listed);
  }

  /** Why no key can be judged now, or undefined where all can. */
  get obstacle(): string | undefined {
    if (!this.followed.current) return 'The list of API keys has not been read yet.';
    return this.followed.age > this.configuration.API_KEY_MAX_AGE_SECONDS
      ? 'The list of API keys is too old.'
      : undefined;
  }

  private read(): Promise<Reading<KeyList>> {
    return readTransaction(this.dataSource, async (manager) => {
      const revision = revisionOf(await readIdentity(manager, 'keys'));
      const keys = await manager.getRepository(ApiKey).find();
      return {
        revision,
        value: new Map(keys.map((key) => [key.keyHash.toString('hex'), listed(key)])),
      };
    });
  }
}

const listed = ({ id, client, expiresAt, revokedAt }: ApiKey): ListedKey => ({
  keyId: id,
  client,
  expiresAt: expiresAt?.getTime() ?? Infinity,
  revokedAt: revokedAt?.getTime() ?? Infinity,
});
