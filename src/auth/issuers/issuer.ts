// The signing keys of an issuer. jose selects them and verifies. Ours is:
// - Keys are fetched each minute, and kept for a day after the last successful fetch. So no request with a known key waits for the issuer.
// - The metadata is read again, so a key set that moved is found within ten minutes although its old address still answers.
// - A token that no key verifies may be signed with a newer key. It is refused only after a fetch that succeeded since its key id was first seen,
//   or the token itself if it names no key id or one that the set holds. Such tokens cause at most one fetch in 30 s.
import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { JSONWebKeySet } from 'jose';
import type { Configuration } from '../../configuration/configuration.js';
import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import type { Fault } from '../fault.js';
import { type IssuerMetadata, discover } from './discovery.js';
import { type KeySet, fetchKeySet, isSigned, keySetOf } from './key-set.js';

/** Interval of fetches: a withdrawn key is refused after at most this time. */
const REFRESH_MS = 60_000;
const RETRY_MS = 1_000;
const MAX_AGE_SECONDS = 24 * 3_600;
/** Metadata older than this is read before the next fetch of the keys. */
const METADATA_MS = 8 * 60_000;
/** Least time between two fetches that tokens cause. */
const COOLDOWN_MS = 30_000;
/** Ends the waiting of a request for such a fetch. */
const limit = (): Promise<void> => pause(800, undefined, { ref: false });
const MOST_UNVERIFIED = 1_000;
/** What an issuer could use as a key id: visible ASCII, no path upwards, no quotes, semicolon or backslash. Others are refused without a fetch. */
const KEY_ID = /^(?!.*\.\.)(?!.*["';\\])[!-~]{1,256}$/;

export const NO_KEYS = 'No signing keys of the issuer are available.';
const NOT_FETCHED = 'The signing keys of the issuer have to be fetched first.';

/** One of the issuers in OAUTH_ISSUER. It shares nothing with the others. */
export class Issuer {
  metadata: IssuerMetadata | undefined;
  isRestored = false;
  /** Of the last fetch, however old. */
  keySet: KeySet | undefined;
  /** Begin of the last fetch that succeeded. */
  private fetchedAt = -Infinity;
  private describedAt = -Infinity;
  private askedAt = -Infinity;
  /** When key ids that the set lacks were first seen, or withdrawn, and tokens (by their hash) that no key verifies. */
  private readonly unverified = new Map<string, number>();
  private readonly failure: RepeatedFailure;
  private refreshing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  /** @param name the exact `iss` of its tokens */
  constructor(
    readonly name: string,
    private readonly configuration: Configuration,
    logger: ServiceLogger,
  ) {
    this.failure = new RepeatedFailure(logger, `issuer ${name}`);
  }

  get keys(): KeySet | undefined {
    return this.secondsLeft > 0 ? this.keySet : undefined;
  }

  /** Seconds since the keys were fetched; Infinity if they never were. */
  get age(): number {
    return (performance.now() - this.fetchedAt) / 1000;
  }

  get secondsLeft(): number {
    return Math.max(0, MAX_AGE_SECONDS - this.age);
  }

  /** Uses the keys of an earlier process until the first fetch. `age` is in seconds. */
  restore(jwks: JSONWebKeySet, age: number): void {
    if (this.keySet) return;
    this.keySet = keySetOf(jwks);
    this.fetchedAt = performance.now() - age * 1000;
    this.isRestored = true;
  }

  /** The keys that verify the signature of a token, or its fault. Never throws. Waits for a fetch for 800 ms at most. */
  async verify(token: string, kid: string | undefined): Promise<KeySet | Fault> {
    const now = performance.now();
    const former = this.keys;
    if (!former) return { reason: 'no-signing-keys', undecided: NO_KEYS };
    if (await isSigned(token, former)) return former;
    const unknown = kid !== undefined && this.holds(kid) ? undefined : kid;
    const fault = { reason: unknown === undefined ? 'signature' : 'unknown-key' };
    if (unknown !== undefined && !KEY_ID.test(unknown)) return fault;
    const seenAt = this.firstSeen(unknown ?? hash('sha256', token), now);
    if (this.fetchedAt < seenAt) await Promise.race([this.fetchFor(seenAt, former), limit()]);
    const isSettled = this.fetchedAt >= seenAt;
    const { keys } = this;
    if (keys && keys !== former && (await isSigned(token, keys))) return keys;
    return isSettled ? fault : { reason: 'signing-keys-not-fetched', undecided: NOT_FETCHED };
  }

  private holds(kid: string): boolean {
    return this.keySet?.jwks.keys.some((key) => key.kid === kid) ?? false;
  }

  private firstSeen(unverified: string, now: number): number {
    const seenAt = this.unverified.get(unverified) ?? now;
    this.unverified.set(unverified, seenAt);
    if (this.unverified.size > MOST_UNVERIFIED)
      this.unverified.delete(this.unverified.keys().next().value as string);
    return seenAt;
  }

  private async fetchFor(seenAt: number, former: KeySet): Promise<void> {
    await this.refreshing; // it may have begun before the token was seen
    if (this.keys !== former || this.fetchedAt >= seenAt) return;
    if (!this.refreshing) {
      if (performance.now() < this.askedAt + COOLDOWN_MS) return;
      this.askedAt = performance.now();
    }
    await this.refresh();
  }

  refresh(): Promise<void> {
    clearTimeout(this.timer);
    return (this.refreshing ??= this.fetch().finally(() => {
      this.refreshing = undefined;
      const { failures } = this.failure;
      const pauseMs = failures > 0 ? RETRY_MS * 2 ** (failures - 1) : REFRESH_MS;
      this.timer = setTimeout(() => void this.refresh(), Math.min(pauseMs, REFRESH_MS)).unref();
    }));
  }

  private async fetch(): Promise<void> {
    try {
      const address = await this.locate();
      const begunAt = performance.now();
      const fetched = await fetchKeySet(address);
      const formerKeys = this.keySet?.jwks.keys ?? [];
      if (!isDeepStrictEqual(fetched.jwks, this.keySet?.jwks)) this.keySet = fetched;
      for (const { kid } of formerKeys)
        if (kid !== undefined && !this.holds(kid)) this.unverified.set(kid, begunAt); // withdrawn: no other fetch is needed
      this.fetchedAt = begunAt;
      this.isRestored = false;
      this.failure.succeeded();
    } catch (error) {
      this.describedAt = -Infinity; // the key set may have moved
      this.failure.failed(error, this.keySet && new Date(Date.now() + this.secondsLeft * 1000));
    }
  }

  /** The address of the key set. While the metadata cannot be read it stays as it was. With OAUTH_JWKS_URI only the documentation page needs the metadata. */
  private async locate(): Promise<string> {
    const { OAUTH_ISSUER, OAUTH_JWKS_URI } = this.configuration;
    const address = OAUTH_JWKS_URI[OAUTH_ISSUER.indexOf(this.name)];
    const described = this.describe().catch((error: unknown) => {
      if (!address && !this.metadata) throw error;
    });
    if (!address) await described;
    return address || (this.metadata?.jwks_uri ?? '');
  }

  private async describe(): Promise<void> {
    if (performance.now() < this.describedAt + METADATA_MS) return;
    this.metadata = await discover(this.name, this.configuration);
    this.describedAt = performance.now();
  }
}
