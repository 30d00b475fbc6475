// The keys of an issuer are fetched in the background and kept for a day after the last successful fetch. So requests do not wait for the
// issuer, and survive its outage. jose's remote key set refuses every token after ten minutes of outage, and does not pause after a failed fetch.
import type { Configuration } from '../../configuration/configuration.js';
import { Availability } from '../../telemetry/availability.js';
import type { Log } from '../../telemetry/log.js';
import type { Metrics } from '../../telemetry/metrics.js';
import type { Tracing } from '../../telemetry/tracing.js';
import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import { type IssuerMetadata, discover } from './discovery.js';
import { FetchLimit } from './fetch-limit.js';
import { fetchJson } from './fetch-json.js';
import { type KeySet, keySetOf } from './key-set.js';

/** Interval of fetches: a withdrawn key is refused after at most this time. */
const REFRESH_MS = 60_000;
/** The interval while callers send key ids that are not in the set and may not cause a fetch themselves. */
const SOONER_MS = 30_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** How long a request waits for a fetch, and how many requests may wait. */
const WAIT_MS = 2_000;
const MOST_WAITING = 1_000;
const MAX_AGE_MS = 24 * 3_600_000;
/** What callers are told while an issuer has no keys. */
export const NO_KEYS = 'No signing keys of the issuer are available.';

/** One of the issuers in OAUTH_ISSUER. It shares nothing with the others. */
export class Issuer {
  readonly availability = new Availability();
  /** Whether the keys are those that were given to `restore`. */
  isRestored = false;
  private keySet: KeySet | undefined;
  private fetchedAt = 0;
  private metadata: IssuerMetadata | undefined;
  private moved = true;
  private describedAt = -SOONER_MS;
  private fetching: Promise<void> | undefined;
  private startedAt = 0;
  private waiting = 0;
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Infinity;
  private retryMs = FIRST_RETRY_MS;
  private stopped = false;
  private readonly limit = new FetchLimit();
  private readonly failure: RepeatedFailure;

  /** @param name the exact `iss` of its tokens */
  constructor(
    readonly name: string,
    private readonly configuration: Pick<Configuration, 'OAUTH_JWKS_URI' | 'OAUTH_ALLOW_HTTP'>,
    log: Log,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
  ) {
    this.failure = new RepeatedFailure(log, `issuer ${name}`);
  }

  /** The current keys, or undefined if there are none or they are too old. */
  get keys(): KeySet | undefined {
    return performance.now() - this.fetchedAt > MAX_AGE_MS ? undefined : this.keySet;
  }

  /** The keys of the last fetch, however old. */
  get jwks(): KeySet['jwks'] | undefined {
    return this.keySet?.jwks;
  }

  /** Seconds since the keys were fetched; undefined if they never were. */
  get age(): number | undefined {
    return this.keySet && (performance.now() - this.fetchedAt) / 1000;
  }

  /** The issuer's metadata, if it is known. Otherwise starts a fetch, without waiting for it. */
  describe(): IssuerMetadata | undefined {
    if (!this.metadata && performance.now() - this.describedAt >= SOONER_MS) {
      this.describedAt = performance.now();
      void this.discover().catch(() => undefined);
    }
    return this.metadata;
  }

  /**
   * Uses the keys of an earlier process until the first fetch; nothing happens after that.
   * @param age seconds since they were fetched
   */
  async restore(jwks: KeySet['jwks'], age: number): Promise<void> {
    const keySet = await keySetOf(jwks);
    if (this.keySet) return;
    this.keySet = keySet;
    this.fetchedAt = performance.now() - age * 1000;
    this.isRestored = true;
  }

  start(): void {
    this.availability.expect();
    void this.refresh();
    if (this.configuration.OAUTH_JWKS_URI) this.describe();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /**
   * Called for a key id that is not in the set: fetches the keys and waits for them, if the fetch limit permits. Never throws.
   * @param caller id of an API key that is in force
   * @returns false if too many requests wait already
   */
  async lookFor(kid: string, caller: string): Promise<boolean> {
    if (this.waiting >= MOST_WAITING) return false;
    this.waiting++;
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => void (timer = setTimeout(resolve, WAIT_MS)));
    await Promise.race([this.fetchFor(kid, caller), enough]);
    clearTimeout(timer);
    this.waiting--;
    return true;
  }

  private async fetchFor(kid: string, caller: string): Promise<void> {
    await this.fetching; // this fetch may have begun before the key was published
    if (this.keys?.kids.has(kid)) return;
    if (!this.fetching && !this.limit.permits(caller, kid))
      this.schedule(Math.max(this.startedAt + SOONER_MS - performance.now(), this.limit.pauseMs));
    else await this.refresh({ caller, kid });
  }

  /** One fetch at a time. The next one is scheduled when it ends. */
  private refresh(cause?: { caller: string; kid: string }): Promise<void> {
    if (this.fetching) return this.fetching;
    clearTimeout(this.timer);
    this.dueAt = Infinity;
    this.startedAt = performance.now();
    this.limit.add(cause);
    this.fetching = this.fetchOnce().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  /** Schedules the next fetch, unless an earlier one is scheduled. */
  private schedule(ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.stopped || dueAt >= this.dueAt) return;
    clearTimeout(this.timer);
    this.dueAt = dueAt;
    this.timer = setTimeout(() => void this.refresh(), ms).unref();
  }

  private async fetchOnce(): Promise<void> {
    let next = REFRESH_MS;
    try {
      this.keySet = await keySetOf(await fetchJson(await this.address(), this.tracing));
      this.fetchedAt = performance.now();
      this.isRestored = false;
      this.availability.answered();
      this.retryMs = FIRST_RETRY_MS;
      this.limit.found(this.keySet.kids);
      this.metrics.jwksFetches.inc({ issuer: this.name, result: 'loaded' });
      this.failure.succeeded();
    } catch (error) {
      this.availability.failed();
      this.moved = true; // the address of the key set may have changed
      next = this.retryMs;
      this.retryMs = Math.min(2 * this.retryMs, LONGEST_RETRY_MS);
      this.metrics.jwksFetches.inc({ issuer: this.name, result: 'failed' });
      this.failure.failed(error);
    }
    this.schedule(next);
  }

  private async address(): Promise<string> {
    if (this.configuration.OAUTH_JWKS_URI) return this.configuration.OAUTH_JWKS_URI;
    const metadata = (this.moved ? undefined : this.metadata) ?? (await this.discover());
    this.moved = false;
    return metadata.jwks_uri;
  }

  private async discover(): Promise<IssuerMetadata> {
    this.metadata = await discover(this.name, this.configuration, this.tracing);
    return this.metadata;
  }
}
