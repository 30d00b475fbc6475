// The issuer's keys are fetched in the background and kept, so that no request waits for the issuer and its outage is not ours: the last
// good set stays for a day. jose's remote set refuses every token after ten minutes of outage, and does not pause after a failed fetch.
import { Inject, Injectable } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { LOG, type Log } from '../../telemetry/log.js';
import { jwksAge, jwksFetches, jwksKeys } from '../../telemetry/metrics.js';
import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import { type IssuerMetadata, discover } from './discovery.js';
import { fetchJson } from './fetch-json.js';
import { type KeySet, keySetOf } from './key-set.js';

/** How soon a key that the issuer withdrew is refused. */
const REFRESH_MS = 60_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** An unknown key id may ask for a fetch this often, and wait for it this long. */
const ON_DEMAND_MS = 30_000;
const ON_DEMAND_WAIT_MS = 2_000;
const MAX_AGE_MS = 24 * 3_600_000;

@Injectable()
export class JwksService {
  private keySet: KeySet | undefined;
  private fetchedAt = 0;
  private metadata: IssuerMetadata | undefined;
  private described: IssuerMetadata | undefined;
  private describing: Promise<IssuerMetadata | undefined> | undefined;
  private describedAt = -ON_DEMAND_MS;
  private fetching: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private dueAt = Infinity;
  private retryMs = FIRST_RETRY_MS;
  private askedAt = -ON_DEMAND_MS;
  private stopped = false;
  private readonly failure: RepeatedFailure;

  constructor(
    private readonly configuration: Configuration,
    @Inject(LOG) log: Log,
  ) {
    this.failure = new RepeatedFailure(log, 'issuer');
  }

  /** The keys that count now, or undefined where there are none, or none fresh enough. */
  get current(): KeySet | undefined {
    return performance.now() - this.fetchedAt > MAX_AGE_MS ? undefined : this.keySet;
  }

  /** Metadata of the issuer for the documentation; asked for anew where it is not known, undefined where it cannot be had. */
  async describeIssuer(): Promise<IssuerMetadata | undefined> {
    this.described ??= this.metadata ?? (await this.discoverOnce());
    return this.described;
  }

  start(): void {
    void this.refresh();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** For a key id that is not in the set: fetches anew, or, where that was done lately, as soon as it may be done again. Never throws. */
  async lookFor(): Promise<void> {
    const pause = this.askedAt + ON_DEMAND_MS - performance.now();
    if (this.fetching === undefined && pause > 0) return this.schedule(pause, () => this.lookFor());
    this.askedAt = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>(
      (resolve) => void (timer = setTimeout(resolve, ON_DEMAND_WAIT_MS)),
    );
    await Promise.race([this.refresh(), limit]);
    clearTimeout(timer);
  }

  measure(): void {
    if (this.keySet) jwksAge.set((performance.now() - this.fetchedAt) / 1000);
  }

  /** One fetch at a time, whoever asks; the next one is scheduled when it ends. */
  private refresh(): Promise<void> {
    clearTimeout(this.timer);
    this.dueAt = Infinity;
    this.fetching ??= this.fetchOnce().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  /** Plans the next fetch, unless one is planned that comes sooner. */
  private schedule(ms: number, fetch: () => Promise<void>): void {
    const dueAt = performance.now() + ms;
    if (this.stopped || dueAt >= this.dueAt) return;
    clearTimeout(this.timer);
    this.dueAt = dueAt;
    this.timer = setTimeout(() => {
      this.dueAt = Infinity;
      void fetch();
    }, ms).unref();
  }

  private async fetchOnce(): Promise<void> {
    let next = REFRESH_MS;
    try {
      this.keySet = await keySetOf(await fetchJson(await this.address()));
      this.fetchedAt = performance.now();
      this.retryMs = FIRST_RETRY_MS;
      jwksFetches.inc({ result: 'loaded' });
      jwksKeys.set(this.keySet.size);
      this.failure.succeeded();
    } catch (error) {
      this.metadata = undefined; // the address may have moved
      next = this.retryMs;
      this.retryMs = Math.min(2 * this.retryMs, LONGEST_RETRY_MS);
      jwksFetches.inc({ result: 'failed' });
      this.failure.failed(error);
    }
    this.schedule(next, () => this.refresh());
  }

  /** The pages are open to everyone, so they ask the issuer no more often than an unknown key id may. */
  private async discoverOnce(): Promise<IssuerMetadata | undefined> {
    if (performance.now() - this.describedAt >= ON_DEMAND_MS) {
      this.describedAt = performance.now();
      this.describing = discover(this.configuration).catch(() => undefined);
    }
    return this.describing;
  }

  private async address(): Promise<string> {
    if (this.configuration.OAUTH_JWKS_URI) return this.configuration.OAUTH_JWKS_URI;
    this.metadata ??= await discover(this.configuration);
    return this.metadata.jwks_uri;
  }
}
