// The signing keys of an issuer. jose's remote key set fetches and selects them. Ours is what it does not promise:
// - Keys are fetched each minute, and kept for a day after the last successful fetch. So no request with a known key waits for the issuer.
// - The metadata is read again, so a key set that moved is found within ten minutes although its old address still answers.
// - A key id is called unknown only after a fetch that succeeded since it was first seen. Such key ids cause at most one fetch in 30 s.
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type JSONWebKeySet, createLocalJWKSet } from 'jose';
import type { Configuration } from '../../configuration/configuration.js';
import type { Log } from '../../telemetry/log.js';
import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import { type IssuerMetadata, discover } from './discovery.js';
import { type KeySet, fetchKeySet } from './key-set.js';

/** Interval of fetches: a withdrawn key is refused after at most this time. */
const REFRESH_MS = 60_000;
/** The first pause after a failure; it doubles with each further one. */
const RETRY_MS = 1_000;
const MAX_AGE_SECONDS = 24 * 3_600;
/** Metadata older than this is read before the next fetch of the keys. */
const METADATA_MS = 8 * 60_000;
/** Least time between two fetches that unknown key ids cause. */
const COOLDOWN_MS = 30_000;
/** How long a request with an unknown key id waits for a fetch. */
const WAIT_MS = 800;
const MOST_UNKNOWN = 1_000;
/** What an issuer could use as a key id: visible ASCII, no path upwards, no quotes, semicolon or backslash. Others are refused without a fetch. */
const KEY_ID = /^(?!.*\.\.)(?!.*["';\\])[!-~]{1,256}$/;

/** One of the issuers in OAUTH_ISSUER. It shares nothing with the others. */
export class Issuer {
  /** What the issuer says of itself. */
  metadata: IssuerMetadata | undefined;
  isRestored = false;
  /** Of the last fetch, however old. */
  keySet: KeySet | undefined;
  /** Begin of the last fetch that succeeded. */
  private fetchedAt = -Infinity;
  private describedAt = -Infinity;
  private lookedAt = -Infinity;
  /** When key ids that the key set lacks were first seen. */
  private readonly unknown = new Map<string, number>();
  private readonly failure: RepeatedFailure;
  private refreshing: Promise<void> | undefined;
  private failures = 0; // in a row
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  /** @param name the exact `iss` of its tokens */
  constructor(
    readonly name: string,
    private readonly configuration: Pick<Configuration, 'OAUTH_JWKS_URI' | 'OAUTH_ALLOW_HTTP'>,
    log: Log,
  ) {
    this.failure = new RepeatedFailure(log, `issuer ${name}`);
  }

  /** The current keys, or undefined if there are none or they are too old. */
  get keys(): KeySet | undefined {
    return this.secondsLeft > 0 ? this.keySet : undefined;
  }

  /** Seconds since the keys were fetched; Infinity if they never were. */
  get age(): number {
    return (performance.now() - this.fetchedAt) / 1000;
  }

  /** For how many seconds the keys may be used if the issuer does not answer. */
  get secondsLeft(): number {
    return Math.max(0, MAX_AGE_SECONDS - this.age);
  }

  /** Uses the keys of an earlier process until the first fetch. `age` is in seconds. Nothing happens after that. */
  restore(jwks: JSONWebKeySet, age: number): void {
    if (this.keySet) return;
    this.keySet = { jwks, select: createLocalJWKSet(jwks) };
    this.fetchedAt = performance.now() - age * 1000;
    this.isRestored = true;
  }

  start(): void {
    void this.refresh();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /**
   * Whether the issuer has a key of this id, or one key only if a token names none; undefined if that cannot be told now. Never throws.
   * For a key id that the set lacks, this fetches the keys if that is permitted, and waits for WAIT_MS at most.
   */
  async has(kid: string | undefined): Promise<boolean | undefined> {
    if (kid === undefined) return this.keySet?.jwks.keys.length === 1;
    if (this.holds(kid)) return true;
    if (!KEY_ID.test(kid)) return false;
    const seenAt = this.unknown.get(kid) ?? performance.now();
    this.unknown.set(kid, seenAt);
    if (this.unknown.size > MOST_UNKNOWN)
      this.unknown.delete(this.unknown.keys().next().value as string);
    if (this.fetchedAt < seenAt)
      await Promise.race([this.lookFor(kid, seenAt), pause(WAIT_MS, undefined, { ref: false })]);
    return this.holds(kid) || (this.fetchedAt < seenAt ? undefined : false);
  }

  private holds(kid: string): boolean {
    return this.keySet?.jwks.keys.some((key) => key.kid === kid) ?? false;
  }

  private async lookFor(kid: string, seenAt: number): Promise<void> {
    await this.refreshing; // it may have begun before the key id was seen
    if (this.holds(kid) || this.fetchedAt >= seenAt) return;
    if (!this.refreshing) {
      if (performance.now() < this.lookedAt + COOLDOWN_MS) return;
      this.lookedAt = performance.now();
    }
    await this.refresh();
  }

  /** Fetches the keys, once at a time, and again after a pause. */
  private refresh(): Promise<void> {
    clearTimeout(this.timer);
    this.refreshing ??= this.fetch().finally(() => {
      this.refreshing = undefined;
      if (this.isStopped) return;
      const pauseMs = this.failures > 0 ? RETRY_MS * 2 ** (this.failures - 1) : REFRESH_MS;
      this.timer = setTimeout(() => void this.refresh(), Math.min(pauseMs, REFRESH_MS)).unref();
    });
    return this.refreshing;
  }

  private async fetch(): Promise<void> {
    try {
      const address = await this.locate();
      const begunAt = performance.now();
      const fetched = await fetchKeySet(address);
      for (const { kid } of this.keySet?.jwks.keys ?? [])
        if (kid !== undefined) this.unknown.set(kid, begunAt); // if it was withdrawn, no other fetch has to say so
      if (!isDeepStrictEqual(fetched.jwks, this.keySet?.jwks)) this.keySet = fetched;
      this.fetchedAt = begunAt;
      this.isRestored = false;
      this.failure.succeeded();
      this.failures = 0;
    } catch (error) {
      this.describedAt = -Infinity; // the key set may have moved
      const refusedAt = this.keySet && new Date(Date.now() + this.secondsLeft * 1000);
      this.failure.failed(error, refusedAt);
      this.failures++;
    }
  }

  /** The address of the key set. While the metadata cannot be read it stays as it was. With OAUTH_JWKS_URI only the documentation page needs the metadata. */
  private async locate(): Promise<string> {
    const { OAUTH_JWKS_URI } = this.configuration;
    const described = this.describe().catch((error: unknown) => {
      if (!OAUTH_JWKS_URI && !this.metadata) throw error;
    });
    if (!OAUTH_JWKS_URI) await described;
    return OAUTH_JWKS_URI || (this.metadata?.jwks_uri ?? '');
  }

  private async describe(): Promise<void> {
    if (performance.now() < this.describedAt + METADATA_MS) return;
    this.metadata = await discover(this.name, this.configuration);
    this.describedAt = performance.now();
  }
}
