// The signing keys of an issuer. jose's remote key set fetches, keeps and selects them. Ours is what it does not promise:
// - Keys are fetched each minute in the background, and kept for a day after the last successful fetch. So no request with a known key waits
//   for the issuer or notices its outage.
// - The metadata is read again now and then, so a key set that moved is found although its old address still answers.
// - A key id is called unknown only after a fetch that succeeded since it was first seen. Such key ids cause at most one fetch in 30 s.
import { setTimeout as pause } from 'node:timers/promises';
import type { JSONWebKeySet, RemoteJWKSet } from 'jose';
import type { Configuration } from '../../configuration/configuration.js';
import type { Log } from '../../telemetry/log.js';
import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import { Discovery } from './discovery.js';
import { type KeySet, keySetOf } from './key-set.js';
import { remoteKeySet } from './remote-key-set.js';
import { UnknownKeyIds } from './unknown-key-ids.js';

/** Interval of fetches: a withdrawn key is refused after at most this time. */
const REFRESH_MS = 60_000;
/** Half of the first pause after a failure; it doubles with each further one. */
const HALF_RETRY_MS = 500;
const MAX_AGE_MS = 24 * 3_600_000;
/** Least time between two fetches that unknown key ids cause. */
const COOLDOWN_MS = 30_000;
/** How long a request with an unknown key id waits for a fetch. */
const WAIT_MS = 800;

/** One of the issuers in OAUTH_ISSUER. It shares nothing with the others. */
export class Issuer {
  /** Whether the keys are those that were given to `restore`. */
  isRestored = false;
  /** What the issuer says of itself. */
  readonly discovery: Discovery;
  private readonly unknown = new UnknownKeyIds();
  private readonly failure: RepeatedFailure;
  /** Fetches from `address`. */
  private remote: RemoteJWKSet | undefined;
  private address = '';
  private keySet: KeySet | undefined;
  /** Selects keys of `keySet`. */
  private selector: RemoteJWKSet | undefined;
  private fetchedAt = 0;
  private begun = 0;
  private succeeded = 0; // the number of the last fetch that did, of those that have begun
  private lookedAt = -Infinity;
  private refreshing: Promise<void> | undefined;
  private retryMs = HALF_RETRY_MS;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;
  private isRefusing = false;

  /** @param name the exact `iss` of its tokens */
  constructor(
    readonly name: string,
    private readonly configuration: Pick<Configuration, 'OAUTH_JWKS_URI' | 'OAUTH_ALLOW_HTTP'>,
    private readonly log: Log,
  ) {
    this.discovery = new Discovery(name, configuration);
    this.failure = new RepeatedFailure(log, `issuer ${name}`);
  }

  /** The current keys, or undefined if there are none or they are too old. */
  get keys(): KeySet | undefined {
    return this.secondsLeft > 0 ? this.keySet : undefined;
  }

  /** Selects the key that the header of a token names. Use it only while there are `keys`. */
  get resolve(): RemoteJWKSet {
    if (!this.selector) throw new Error(`there are no keys of ${this.name}`);
    return this.selector;
  }

  /** The keys of the last fetch, however old. */
  get jwks(): JSONWebKeySet | undefined {
    return this.keySet?.jwks;
  }

  /** Seconds since the keys were fetched; undefined if they never were. */
  get age(): number | undefined {
    return this.keySet && (performance.now() - this.fetchedAt) / 1000;
  }

  /** For how many seconds the keys may be used if the issuer does not answer. */
  get secondsLeft(): number {
    return Math.max(0, MAX_AGE_MS / 1000 - (this.age ?? Infinity));
  }

  /**
   * Uses the keys of an earlier process until the first fetch; nothing happens after that.
   * @param age seconds since they were fetched
   */
  async restore(jwks: JSONWebKeySet, age: number): Promise<void> {
    const keySet = await keySetOf(jwks);
    if (this.keySet) return;
    this.keySet = keySet;
    this.selector = remoteKeySet(this.name, keySet.jwks);
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
   * Whether the issuer has a key of this id; undefined if that cannot be told now. Never throws.
   * For a key id that the set lacks, this fetches the keys if that is permitted, and waits for WAIT_MS at most.
   */
  async has(kid: string): Promise<boolean | undefined> {
    if (this.keySet?.kids.has(kid)) return true;
    const before = this.unknown.firstSeen(kid, this.begun);
    if (this.succeeded <= before)
      await Promise.race([this.lookFor(kid, before), pause(WAIT_MS, undefined, { ref: false })]);
    if (this.keySet?.kids.has(kid)) return true;
    return this.succeeded > before ? false : undefined;
  }

  private async lookFor(kid: string, before: number): Promise<void> {
    await this.refreshing; // it may have begun before the key id was seen
    if (this.keySet?.kids.has(kid) || this.succeeded > before) return;
    if (!this.refreshing) {
      if (performance.now() < this.lookedAt + COOLDOWN_MS) return;
      this.lookedAt = performance.now();
    }
    await this.refresh();
  }

  /** Fetches the keys, once at a time, and again after a pause. Never fails. */
  private refresh(): Promise<void> {
    this.refreshing ??= this.fetchAndPause().finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }

  private async fetchAndPause(): Promise<void> {
    clearTimeout(this.timer);
    const pauseMs = await this.fetch();
    if (!this.isStopped) this.timer = setTimeout(() => void this.refresh(), pauseMs).unref();
  }

  /** Gives the pause until the next fetch, in milliseconds. */
  private async fetch(): Promise<number> {
    try {
      const remote = await this.locate();
      const number = ++this.begun;
      await remote.reload();
      const keySet = await keySetOf(remote.jwks());
      for (const kid of this.keySet?.kids ?? [])
        if (!keySet.kids.has(kid)) this.unknown.firstSeen(kid, number - 1); // withdrawn: no other fetch has to say so
      [this.keySet, this.selector] = [keySet, remote];
      [this.succeeded, this.fetchedAt] = [number, performance.now()];
      this.isRestored = this.isRefusing = false;
      this.failure.succeeded();
      this.retryMs = HALF_RETRY_MS;
      return REFRESH_MS;
    } catch (error) {
      this.failed(error);
      this.retryMs = Math.min(2 * this.retryMs, REFRESH_MS);
      return this.retryMs;
    }
  }

  /** The key set at its present address. While the metadata cannot be read, the address stays as it was. With OAUTH_JWKS_URI only the documentation page needs it. */
  private async locate(): Promise<RemoteJWKSet> {
    const { OAUTH_JWKS_URI } = this.configuration;
    const described = this.discovery.refresh();
    if (OAUTH_JWKS_URI) described.catch(() => undefined);
    else
      await described.catch((error: unknown) => {
        this.discovery.expire();
        if (!this.remote) throw error;
      });
    const address = OAUTH_JWKS_URI || this.discovery.metadata?.jwks_uri || '';
    if (!this.remote || address !== this.address) this.remote = remoteKeySet(address);
    this.address = address;
    return this.remote;
  }

  private failed(error: unknown): void {
    this.discovery.expire(); // the key set may have moved
    const endsAt = this.keySet && new Date(Date.now() + this.secondsLeft * 1000).toISOString();
    this.failure.failed(error, { callersRefusedAt: endsAt });
    if (!endsAt || this.secondsLeft > 0 || this.isRefusing) return;
    this.isRefusing = true;
    this.log.error({ issuer: this.name }, 'issuer: its keys are too old, its callers get 503 now');
  }
}
