// Keeps what was last read in LAST_GOOD_FILE, and serves from it what could not be read soon after the start, unless the database names another
// stamp. The file is replaced soon after a change, and now and then without one: it says when the database last confirmed what it holds.
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Client } from 'pg';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { CodesSnapshot } from '../lookups/codes-snapshot.js';
import { CodesService } from '../lookups/codes.service.js';
import { Configuration } from '../configuration/configuration.js';
import { connectionString } from '../configuration/database-url.js';
import { DatabaseClock } from '../database/database-clock.js';
import { Metrics } from '../telemetry/metrics.js';
import { messageOf } from '../telemetry/error-message.js';
import { RepeatedFailure } from '../telemetry/repeated-failure.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { type LastGood, readLastGood, writeLastGood } from './last-good-file.js';

/** How often it is looked whether a write is due, and half the time that the database may be silent at the start. */
const LOOK_MS = 500;
/** Least and largest time between two writes. */
const [SPACING_MS, UNCHANGED_MS] = [5_000, 60_000];

@Injectable()
export class LastGoodService implements OnApplicationBootstrap {
  constructor(
    private readonly configuration: Configuration,
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly clock: DatabaseClock,
    private readonly logger: ServiceLogger,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    if (this.configuration.LAST_GOOD_FILE !== '') void this.restore().then(() => this.keep());
  }

  /** Restores what is missing. */
  private async restore(): Promise<void> {
    const { LAST_GOOD_FILE: path } = this.configuration;
    const [codes, keys] = [this.codes.snapshot, this.apiKeys.snapshot];
    await pause(LOOK_MS, undefined, { ref: false });
    if (codes.named === undefined || keys.named === undefined)
      await pause(LOOK_MS, undefined, { ref: false });
    const lacksData = !codes.current || !keys.current;
    if (!lacksData) return;
    try {
      const lastGood = await readLastGood(path);
      if (lastGood.source !== this.source)
        throw new Error(`it was written for ${lastGood.source}, not for ${this.source}`);
      this.clock.assumedMs = lastGood.aheadMs;
      const now = this.clock.now();
      // Seconds. A moment that lies ahead counts as too old: a clock was set back
      const ageOf = (moment: number): number => (moment > now ? Infinity : (now - moment) / 1000);
      const age = ageOf(lastGood.confirmedAt);
      const snapshot = await new CodesSnapshot(lastGood.rows, now).prepare();
      keys.restore(lastGood.keys, lastGood.stamps.keys, age);
      codes.restore(snapshot, lastGood.stamps.codes, age);
      const topics = [...(codes.isRestored ? ['codes'] : []), ...(keys.isRestored ? ['keys'] : [])];
      if (topics.length > 0)
        this.logger.warn({ message: 'LAST_GOOD_FILE is served', served: topics, ageSeconds: age });
    } catch (error) {
      this.logger.warn({ message: 'LAST_GOOD_FILE is ignored', path, reason: messageOf(error) });
    }
  }

  private async keep(): Promise<void> {
    const { LAST_GOOD_FILE: path, API_KEY_MAX_AGE_SECONDS } = this.configuration;
    const unchangedMs = Math.min(UNCHANGED_MS, (API_KEY_MAX_AGE_SECONDS * 1000) / 3);
    const failure = new RepeatedFailure(this.logger, 'writing LAST_GOOD_FILE');
    let [written, triedAt] = [[] as unknown[], -Infinity];
    for (;;) {
      await pause(LOOK_MS, undefined, { ref: false });
      const [codes, keys] = [this.codes.snapshot, this.apiKeys.snapshot];
      const content = [codes.current?.rows, keys.current];
      const isChanged = content.some((part, at) => part !== written[at]);
      const isDue = performance.now() >= triedAt + (isChanged ? SPACING_MS : unchangedMs);
      if (!isDue || !codes.current || !keys.current || codes.isRestored || keys.isRestored)
        continue;
      triedAt = performance.now();
      try {
        await writeLastGood(path, this.lastGood({ rows: codes.current.rows, keys: keys.current }));
        written = content;
        this.metrics.lastGoodWrites.inc({ result: 'written' });
        failure.succeeded();
      } catch (error) {
        this.metrics.lastGoodWrites.inc({ result: 'failed' });
        failure.failed(error);
      }
    }
  }

  private lastGood(data: Pick<LastGood, 'rows' | 'keys'>): LastGood {
    const now = this.clock.now();
    return {
      source: this.source,
      aheadMs: now - Date.now(),
      stamps: { codes: this.codes.snapshot.stamp ?? '', keys: this.apiKeys.snapshot.stamp ?? '' },
      confirmedAt: now - this.apiKeys.snapshot.age * 1000,
      ...data,
    };
  }

  /** The database that the configuration names, without user and password. */
  private get source(): string {
    const { host, port, database } = new Client(connectionString(this.configuration));
    return `${host}:${port}/${database}`;
  }
}
