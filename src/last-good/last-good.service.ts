// Keeps what was last read in LAST_GOOD_FILE, and serves from it what cannot be had at the start. The file is read only after the database or
// an issuer failed or was silent. It is never changed, only replaced. It is written soon after a change; and now and then without one, since it
// also says when the database last confirmed what it holds, and the age limits count from there.
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import type { Issuer } from '../auth/issuers/issuer.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { CodesSnapshot } from '../codes/codes-snapshot.js';
import { CodesService } from '../codes/codes.service.js';
import { Client } from 'pg';
import { Configuration } from '../configuration/configuration.js';
import { connectionString } from '../configuration/database-url.js';
import { DatabaseClock } from '../database/database-clock.js';
import { SnapshotsService } from '../snapshots/snapshots.service.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { RepeatedFailure, describe } from '../telemetry/repeated-failure.js';
import { type Restored, readLastGood, writeLastGood } from './last-good-file.js';

const LOOK_MS = 500;
/** Least time between two writes. */
const SPACING_MS = 5_000;
/** How long it is left as it is, at most, while nothing changes. */
const UNCHANGED_MS = 60_000;

@Injectable()
export class LastGoodService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly failure: RepeatedFailure;
  private timer: NodeJS.Timeout | undefined;
  private isWriting = false;
  /** Why the file could not be used, as the log has said it: the database and each issuer ask for it. */
  private ignored = '';
  private written: readonly unknown[] = [];
  private writtenAt = -Infinity;

  constructor(
    private readonly configuration: Configuration,
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    private readonly snapshots: SnapshotsService,
    private readonly clock: DatabaseClock,
    @Inject(LOG) private readonly log: Log,
    private readonly metrics: Metrics,
  ) {
    this.failure = new RepeatedFailure(log, 'writing LAST_GOOD_FILE');
  }

  onApplicationBootstrap(): void {
    if (this.configuration.LAST_GOOD_FILE === '') return;
    void this.snapshots.availability.absence.then(() => this.restoreSnapshots());
    for (const issuer of this.issuers.all)
      void issuer.availability.absence.then(() => this.restoreKeysOf(issuer));
    this.timer = setInterval(() => void this.write(), LOOK_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async restoreSnapshots(): Promise<void> {
    if (this.codes.followed.current && this.apiKeys.followed.current) return; // it failed later
    const lastGood = await this.read();
    if (!lastGood) return;
    const [codesAge, keysAge] = [
      this.age(lastGood.codesConfirmedAt),
      this.age(lastGood.keysConfirmedAt),
    ];
    const snapshot = await new CodesSnapshot(lastGood.rows, this.clock.now()).prepare();
    this.codes.followed.restore(snapshot, codesAge);
    this.apiKeys.followed.restore(new Map(lastGood.keys), keysAge);
    this.log.warn(
      { codesAge, keysAge },
      'database: away, codes and API keys from LAST_GOOD_FILE are served',
    );
  }

  private async restoreKeysOf(issuer: Issuer): Promise<void> {
    if (issuer.age !== undefined) return;
    const kept = (await this.read())?.issuers.find(({ name }) => name === issuer.name);
    if (!kept) return;
    const age = this.age(kept.fetchedAt);
    await issuer.restore(kept.jwks, age);
    this.log.warn(
      { issuer: issuer.name, age },
      'issuer: away, its keys from LAST_GOOD_FILE are used',
    );
  }

  /** The file, or undefined if it cannot be used. */
  private async read(): Promise<Restored | undefined> {
    const { LAST_GOOD_FILE: path } = this.configuration;
    try {
      const lastGood = await readLastGood(path);
      const source = sourceOf(this.configuration);
      if (lastGood.source !== source)
        throw new Error(
          `it was written for ${lastGood.source}, and the configuration names ${source}`,
        );
      this.clock.assume(lastGood.aheadMs);
      return lastGood;
    } catch (error) {
      const reason = describe(error);
      if (reason !== this.ignored) this.log.warn({ path, reason }, 'LAST_GOOD_FILE is ignored');
      this.ignored = reason;
      return undefined;
    }
  }

  /** Seconds since a moment of the database's clock. One that lies ahead counts as too old: a clock was set back. */
  private age(moment: number): number {
    const ms = this.clock.now() - moment;
    return ms < 0 ? Infinity : ms / 1000;
  }

  private async write(): Promise<void> {
    const [codes, keys] = [this.codes.followed, this.apiKeys.followed];
    const [{ current: snapshot }, { current: list }] = [codes, keys];
    if (this.isWriting || !snapshot || !list || codes.isRestored || keys.isRestored) return;
    const sets = this.issuers.all.map(({ jwks }) => JSON.stringify(jwks));
    const content = [snapshot, list, ...sets];
    const isChanged = content.some((part, at) => part !== this.written[at]);
    const now = performance.now();
    const pauseMs = isChanged ? SPACING_MS : this.unchangedMs;
    // Without a change only if the database has confirmed what is there
    if (now < this.writtenAt + pauseMs || (!isChanged && codes.age * 1000 > pauseMs)) return;
    this.isWriting = true;
    [this.written, this.writtenAt] = [content, now];
    try {
      const head = {
        source: sourceOf(this.configuration),
        aheadMs: this.clock.offsetMs,
        codesConfirmedAt: this.momentBefore(codes.age),
        keysConfirmedAt: this.momentBefore(keys.age),
        keys: [...list],
        issuers: this.issuers.all.flatMap(({ name, jwks, age }) =>
          jwks && age !== undefined ? [{ name, jwks, fetchedAt: this.momentBefore(age) }] : [],
        ),
      };
      await writeLastGood(this.configuration.LAST_GOOD_FILE, head, snapshot.rows);
      this.metrics.lastGoodWrites.inc({ result: 'written' });
      this.failure.succeeded();
    } catch (error) {
      this.written = [];
      this.metrics.lastGoodWrites.inc({ result: 'failed' });
      this.failure.failed(error);
    }
    this.isWriting = false;
  }

  private momentBefore(age: number): number {
    return this.clock.now() - age * 1000;
  }

  /** So that keys are not too old after a quiet time. */
  private get unchangedMs(): number {
    return Math.min(UNCHANGED_MS, (this.configuration.API_KEY_MAX_AGE_SECONDS * 1000) / 3);
  }
}

/** The database and the issuers that the configuration names, without user and password. */
function sourceOf(configuration: Configuration): string {
  const { host, port, database } = new Client(connectionString(configuration)); // it is not connected
  return `${host}:${port}/${database} and ${configuration.OAUTH_ISSUER.join(', ')}`;
}
