import { isDeepStrictEqual } from 'node:util';
import type { JWK } from 'jose';
import { type CallerImpact, RepeatedFailure, toCallerImpact } from '../../telemetry/repeated-failure.js';
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
 * The time between the starts of two fetches. Do not raise it: docs/identity-providers.md promises that a withdrawn key
 * is dropped within a minute. That takes up to 56 s: this interval, a fetch of 10 s, a pause of 1 s, a fetch of 10 s.
 */
export const REFRESH_INTERVAL_MS = 35_000;
/**
 * The time between the starts of two fetches after a failure. Unknown key ids cause at most one fetch in this time.
 * A message of issuer-fault.ts names this time and REFRESH_INTERVAL_MS.
 */
export const RETRY_INTERVAL_MS = 5_000;
/** The least pause before a fetch by the timer. A fetch for an unknown key id or a new address does not wait for it. */
const MIN_PAUSE_MS = 1_000;
/**
 * A key is dropped if two answers in a row lack it, and their fetches began at least this long apart.
 * docs/identity-providers.md names this time.
 */
const MIN_WITHDRAWAL_MS = 1_000;
/** The longest time for which a caller waits for a fetch. */
const MAX_CALLER_WAIT_MS = 2_000;
/** Keys of this age are not used any more, even if the issuer cannot be reached. */
const MAX_AGE_SECONDS = 24 * 3_600;

/** The result of the last fetch. It decides when the next fetch begins. */
type State = 'settled' | 'lacking' | 'unusable';
/** The time from the start of the last fetch to the start of the next fetch. */
const DELAYS_MS: Readonly<Record<State, number>> = {
  /** The answer has all keys in use, or two answers in a row lacked keys. */
  settled: REFRESH_INTERVAL_MS,
  /** The answer is the first that lacks a key in use. The next answer shows whether the key is withdrawn. */
  lacking: MIN_WITHDRAWAL_MS,
  /** There was no usable answer, or no key in use can verify a token. */
  unusable: RETRY_INTERVAL_MS,
};

interface UsedKey {
  readonly jwk: JWK;
  readonly identity: string;
  /** The start of the first fetch whose answer lacked the key; undefined if the last answer had the key. */
  readonly lackedSinceMs: number | undefined;
}

/**
 * The key set of an issuer. It is fetched at intervals, so that only tokens with an unknown key id wait for a fetch. If
 * the issuer cannot be reached, its last keys are used for a day.
 */
export class KeySet {
  private state: State = 'unusable';
  private usedKeys: readonly UsedKey[] = [];
  private signingKeys: SigningKeys | undefined;
  /** The start of the last fetch. All times of this class are by the monotonic clock. */
  private beganAtMs = -Infinity;
  /** The start of the last successful fetch, not its end: the issuer may change its keys during the fetch. */
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

  get ageSeconds(): number {
    return (performance.now() - this.fetchedAtMs) / 1000;
  }

  /** The seconds for which tokens are still accepted if no fetch succeeds; 0 if no token is accepted now. */
  get secondsUntilRefusal(): number {
    return this.keys && this.keys.usableCount > 0 ? this.secondsUntilTooOld : 0;
  }

  /** Fetches the keys now and at intervals until `stop`, if their address is known. Joins a running fetch. */
  async refresh(): Promise<void> {
    if (this.address !== undefined) await this.joinOrBeginFetch(this.address);
  }

  /** Begins no further fetch. A running fetch is not interrupted. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  async moveTo(address: string): Promise<void> {
    if (address === this.address) return;
    this.address = address;
    await this.running; // the running fetch still asks the former address
    await this.joinOrBeginFetch(address);
  }

  /**
   * Fetches the keys if the key id is unknown, unless the last fetch began less than 5 s ago. Waits at most 2 s.
   * @returns all keys, with or without the wanted key. Undefined if the fetch failed or still runs: then nobody knows
   * whether the key exists
   */
  async findNewKeys(keyId: string): Promise<SigningKeys | undefined> {
    await waitAtMost(MAX_CALLER_WAIT_MS, this.fetchIfUnknown(keyId)); // does not end a longer fetch
    if (this.has(keyId)) return this.keys;
    const hasLastFetchSucceeded = !this.isFetching && this.failure.failuresInARow === 0;
    return hasLastFetchSucceeded ? this.keys : undefined;
  }

  /** Waits for a running fetch. If the key is unknown after it, and a fetch is due, fetches the keys. */
  private async fetchIfUnknown(keyId: string): Promise<void> {
    await this.running; // this fetch may have begun before the key was published
    if (this.has(keyId)) return;
    const isDue = performance.now() - this.beganAtMs >= RETRY_INTERVAL_MS;
    const isNextFetchRunning = this.isFetching; // another caller that waited has begun it, and `refresh` joins it
    if (isDue || isNextFetchRunning) await this.refresh();
  }

  private has(keyId: string): boolean {
    return this.usedKeys.some(({ jwk }) => jwk.kid === keyId);
  }

  private async joinOrBeginFetch(address: string): Promise<void> {
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
    this.timer = setTimeout(() => void this.refresh(), Math.max(MIN_PAUSE_MS, restMs)).unref();
  }

  /** Never throws: a failure is logged, and the former keys stay. */
  private async fetchOnce(address: string): Promise<void> {
    try {
      const fetched = readKeys(address, await fetchJson(address));
      if (address !== this.address) return; // `moveTo` was called during the fetch
      const former = this.keys ? this.usedKeys : []; // keys that became too old are not used again
      await this.replaceKeys(mergeKeys(former, fetched, this.beganAtMs));
      this.fetchedAtMs = this.beganAtMs;
      this.failure.noteSuccess();
    } catch (error) {
      this.state = 'unusable';
      this.failure.noteFailure(error, this.callerImpact);
    }
  }

  /** Decides when the next fetch begins, logs what is new, and replaces the keys. */
  private async replaceKeys(usedKeys: readonly UsedKey[]): Promise<void> {
    const signingKeys = await toSigningKeys(usedKeys.map(({ jwk }) => jwk));
    const lackingKeys = usedKeys.filter(({ lackedSinceMs }) => lackedSinceMs !== undefined);
    this.state = findNextState(this.state, signingKeys.usableCount, lackingKeys.length);
    this.usedKeys = usedKeys;
    if (this.state === 'lacking') this.logLacking(lackingKeys);
    // Equal keys do not replace the object: with a new object, each remembered token would be verified again
    if (isDeepStrictEqual(signingKeys.document, this.signingKeys?.document)) return;
    this.logChange(signingKeys);
    this.signingKeys = signingKeys;
  }

  private logLacking(lackingKeys: readonly UsedKey[]): void {
    this.logger.log({
      message: 'issuer: an answer lacks keys, the next answer will show whether they are withdrawn',
      issuer: this.issuer,
      keyIds: lackingKeys.map(({ jwk }) => jwk.kid),
    });
  }

  private logChange({ document, usableCount }: SigningKeys): void {
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
    const hasUsableKey = this.signingKeys !== undefined && this.signingKeys.usableCount > 0;
    return hasUsableKey ? toCallerImpact(MAX_AGE_SECONDS - this.ageSeconds) : { callers: 'refused' };
  }

  private get secondsUntilTooOld(): number {
    return Math.max(0, MAX_AGE_SECONDS - this.ageSeconds);
  }
}

/** Returns the fetched keys, and the used keys that the answer lacks but that are not withdrawn yet. */
function mergeKeys(usedKeys: readonly UsedKey[], fetched: readonly JWK[], beganAtMs: number): UsedKey[] {
  const present = fetched.map((jwk) => ({ jwk, identity: identifyKey(jwk), lackedSinceMs: undefined }));
  const identities = new Set(present.map(({ identity }) => identity));
  const lacking = usedKeys
    .filter(({ identity }) => !identities.has(identity))
    .map((key) => ({ ...key, lackedSinceMs: key.lackedSinceMs ?? beganAtMs }));
  const notWithdrawn = lacking.filter(({ lackedSinceMs }) => beganAtMs - lackedSinceMs < MIN_WITHDRAWAL_MS);
  // Sorted, because the nodes of an issuer may order the keys differently, and equal sets must be recognized
  return [...present, ...notWithdrawn].sort((one, other) => (one.identity < other.identity ? -1 : 1));
}

function findNextState(former: State, usableCount: number, lackingCount: number): State {
  if (usableCount === 0) return 'unusable';
  if (lackingCount === 0) return 'settled';
  // Never `lacking` twice in a row: an issuer whose nodes have different keys would be asked each second
  return former === 'lacking' ? 'settled' : 'lacking';
}

/** Returns the key id and the public key as one text. The id alone is not enough: an issuer may reuse an id. */
function identifyKey({ kid, kty, crv, n, e, x, y }: JWK): string {
  return JSON.stringify([kid, kty, crv, n, e, x, y]);
}

async function waitAtMost(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
