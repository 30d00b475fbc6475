import { isDeepStrictEqual } from 'node:util';
import type { JWK } from 'jose';
import { type CallerImpact, RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { fetchJson } from './fetch-json.js';
import {
  NO_USABLE_KEY_REMEDY,
  type SigningKeys,
  selectDecidingMembers,
  readKeys,
  toSigningKeys,
} from './signing-keys.js';

/**
 * From the begin of a fetch to the begin of the next one. A key that is withdrawn just after a fetch is refused after
 * this time, two fetches of 10 s and the second between them: 56 s. If you raise this, it takes more than a minute.
 */
export const REFRESH_INTERVAL_MS = 35_000;
/** The least time from the begin of a fetch to the begin of one for an unknown key id. */
export const PAUSE_MS = 5_000;
/** The least time from the end of a fetch to the begin of the next one by the timer. */
const LEAST_PAUSE_MS = 1_000;
/** How long a caller waits for a fetch. */
const MAX_CALLER_WAIT_MS = 2_000;
/** Keys that were fetched longer ago are not used, even if the issuer does not answer. */
const MAX_AGE_SECONDS = 24 * 3_600;

/**
 * What the last fetch has left, which decides when the next one begins:
 * - `complete`: the keys in use are those of the fetched set.
 * - `lacking`: keys are in use that the fetched set lacks. The next fetch confirms that they are withdrawn.
 * - `unusable`: the answer was unusable, or no key of it can verify a token.
 */
type State = 'complete' | 'lacking' | 'unusable';
const DELAYS_MS: Readonly<Record<State, number>> = {
  complete: REFRESH_INTERVAL_MS,
  lacking: LEAST_PAUSE_MS,
  unusable: PAUSE_MS,
};

/** A key that judges tokens. */
interface UsedKey {
  readonly jwk: JWK;
  /** The same for the same key in another set. */
  readonly identity: string;
  /** When the first fetch began that lacked the key; undefined if the last fetch brought the key. */
  readonly lackedSinceMs: number | undefined;
}

/**
 * The key set of an issuer, fetched again and again, so that no token of a known key waits for it. While the issuer does
 * not answer, the keys that it gave last are used for a day.
 */
export class KeySet {
  private state: State = 'unusable';
  private used: readonly UsedKey[] = [];
  private signingKeys: SigningKeys | undefined;
  /** By the monotonic clock, as every time here. */
  private beganAtMs = -Infinity;
  /** When the last successful fetch began: the issuer may have changed its keys since. */
  private fetchedAtMs = -Infinity;
  private running: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;
  private readonly failure: RepeatedFailure;

  /** @param address undefined until the metadata of the issuer are read */
  constructor(
    private readonly issuer: string,
    private address: string | undefined,
    private readonly logger: ServiceLogger,
  ) {
    this.failure = new RepeatedFailure(logger, `issuer ${issuer}`);
  }

  get isFetching(): boolean {
    return this.running !== undefined;
  }

  /** The keys that verify tokens, or undefined if there are none yet or they are too old. Their list may be empty. */
  get keys(): SigningKeys | undefined {
    return this.secondsUntilTooOld > 0 ? this.signingKeys : undefined;
  }

  /** Seconds since the keys were fetched; Infinity if they never were. */
  get ageSeconds(): number {
    return (performance.now() - this.fetchedAtMs) / 1000;
  }

  /** How long tokens can still be accepted if the issuer does not answer; 0 while none can be. */
  get secondsUntilRefusal(): number {
    return this.keys && this.keys.usableCount > 0 ? this.secondsUntilTooOld : 0;
  }

  /** Fetches the keys now, if their address is known, and from then on again and again until `stop`. */
  async refresh(): Promise<void> {
    if (this.address !== undefined) await this.fetch(this.address);
  }

  /** No fetch begins any more. A fetch that is under way comes to its end. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** Fetches the keys from this address from now on. */
  async moveTo(address: string): Promise<void> {
    if (address === this.address) return;
    this.address = address;
    await this.running; // its answer comes from the former address
    await this.fetch(address);
  }

  /**
   * Waits for a fetch that may bring an unknown key, 2 s at most. The fetch goes on without the caller.
   * @returns the present keys, or undefined if it is not known whether the issuer has the key
   */
  async findNewKeys(keyId: string): Promise<SigningKeys | undefined> {
    await waitAtMost(MAX_CALLER_WAIT_MS, this.seek(keyId));
    const isAnswered = !this.isFetching && this.failure.failuresInARow === 0;
    return isAnswered || this.has(keyId) ? this.keys : undefined;
  }

  /** A fetch that is under way may have begun before the key was published, so it may need another one after it. */
  private async seek(keyId: string): Promise<void> {
    await this.running;
    const isDue = performance.now() - this.beganAtMs >= PAUSE_MS;
    if (!this.has(keyId) && (this.isFetching || isDue)) await this.refresh();
  }

  private has(keyId: string): boolean {
    return this.used.some(({ jwk }) => jwk.kid === keyId);
  }

  /** Joins the fetch that is under way, or begins one. */
  private async fetch(address: string): Promise<void> {
    if (this.isStopped) return;
    if (!this.running) {
      clearTimeout(this.timer);
      this.beganAtMs = performance.now();
      this.running = this.fetchOnce(address).then(() => this.endFetch());
    }
    await this.running;
  }

  private endFetch(): void {
    this.running = undefined;
    const restMs = this.beganAtMs + DELAYS_MS[this.state] - performance.now();
    this.timer = setTimeout(() => void this.refresh(), Math.max(LEAST_PAUSE_MS, restMs)).unref();
  }

  /** Never throws: a failure is logged, and the former keys stay. */
  private async fetchOnce(address: string): Promise<void> {
    try {
      const fetched = readKeys(address, await fetchJson(address));
      if (address !== this.address) return; // the key set has moved meanwhile
      const former = this.keys ? this.used : []; // keys that are too old do not come back
      await this.use(mergeKeys(former, fetched, this.beganAtMs));
      this.fetchedAtMs = this.beganAtMs;
      this.failure.noteSuccess();
    } catch (error) {
      this.state = 'unusable';
      this.failure.noteFailure(error, this.callerImpact);
    }
  }

  private async use(used: readonly UsedKey[]): Promise<void> {
    const keys = await toSigningKeys({ keys: used.map(({ jwk }) => jwk) });
    this.used = used;
    this.state = this.findState(keys.usableCount);
    if (this.state === 'lacking') this.logLacking();
    // Equal keys leave the former object: with another one all remembered tokens would have to be verified again.
    if (isDeepStrictEqual(keys.document, this.signingKeys?.document)) return;
    this.log(keys);
    this.signingKeys = keys;
  }

  private findState(usableCount: number): State {
    if (usableCount === 0) return 'unusable';
    const isAnyLacking = this.used.some(({ lackedSinceMs }) => lackedSinceMs !== undefined);
    // A confirmation is not confirmed again: an issuer whose nodes have different keys would be asked each second.
    return isAnyLacking && this.state !== 'lacking' ? 'lacking' : 'complete';
  }

  private logLacking(): void {
    const lacking = this.used.filter(({ lackedSinceMs }) => lackedSinceMs !== undefined);
    const keyIds = lacking.map(({ jwk }) => jwk.kid);
    this.logger.log({
      message: 'issuer: an answer lacks keys, the next one will confirm it',
      issuer: this.issuer,
      keyIds,
    });
  }

  private log({ document, usableCount }: SigningKeys): void {
    const { issuer } = this;
    if (usableCount === 0) {
      const message = 'issuer: no key that can verify a token, callers are refused';
      this.logger.warn({
        message,
        issuer,
        keys: document.keys.map(selectDecidingMembers),
        remedy: NO_USABLE_KEY_REMEDY,
      });
    } else {
      const message = this.signingKeys ? 'issuer: other signing keys' : 'issuer: signing keys';
      this.logger.log({ message, issuer, keyIds: document.keys.map(({ kid }) => kid) });
    }
  }

  private get callerImpact(): CallerImpact {
    const { secondsUntilRefusal } = this;
    if (secondsUntilRefusal === 0) return { name: 'refused' };
    return { name: 'refused-later', secondsLeft: secondsUntilRefusal };
  }

  private get secondsUntilTooOld(): number {
    return Math.max(0, MAX_AGE_SECONDS - this.ageSeconds);
  }
}

/**
 * Returns the keys of a fetched set, and of those in use that the set lacks the ones that no other fetch lacked a second
 * before. The order is always the same, because the nodes of an issuer may give the same keys in different orders.
 */
function mergeKeys(used: readonly UsedKey[], fetched: readonly JWK[], beganAtMs: number): UsedKey[] {
  const present = fetched.map((jwk) => ({ jwk, identity: identifyKey(jwk), lackedSinceMs: undefined }));
  const identities = new Set(present.map(({ identity }) => identity));
  const lacking = used
    .filter(({ identity }) => !identities.has(identity))
    .map((key) => ({ ...key, lackedSinceMs: key.lackedSinceMs ?? beganAtMs }))
    .filter(({ lackedSinceMs }) => beganAtMs - lackedSinceMs < LEAST_PAUSE_MS);
  return [...present, ...lacking].sort((one, other) => (one.identity < other.identity ? -1 : 1));
}

/** Returns the key id and the public key as one text. A key may be replaced under its id. */
function identifyKey({ kid, kty, crv, n, e, x, y }: JWK): string {
  return JSON.stringify([kid, kty, crv, n, e, x, y]);
}

/** Waits until the work has ended, but not longer. The work goes on. */
async function waitAtMost(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
