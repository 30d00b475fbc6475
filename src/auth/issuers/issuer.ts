import { isDeepStrictEqual } from 'node:util';
import {
  type JSONWebKeySet,
  type JWKSCacheInput,
  type ProtectedHeaderParameters,
  createRemoteJWKSet,
  customFetch,
  jwksCache,
} from 'jose';
import type { LastGoodFile, LastGoodFolder } from '../../snapshots/last-good-folder.js';
import { messageOf } from '../../telemetry/error-message.js';
import { type CallerImpact, RepeatedFailure, refusedIn } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import type { IssuerMetadata } from './discovery.js';
import { fetchJson } from './fetch-json.js';
import { MetadataReader } from './metadata-reader.js';
import { mayBeOfNewKey } from './new-key.js';
import { type SavedKeys, fileOf, isSavedKeys } from './saved-keys.js';
import { verifyToken } from './verify-token.js';

/** Less than a minute, since a fetch is left out where a token caused one just before. */
const REFRESH_INTERVAL_MS = 55_000;
/** Least time between two fetches, whatever causes them and however the first one ends. */
const FETCH_PAUSE_MS = 5_000;
/** How old keys may be, while the issuer does not answer. */
const MAX_AGE_MS = 24 * 3_600_000;
/** How long a request waits for a fetch. So it is answered within a second, also where the issuer is slow. */
const MAX_WAIT_MS = 800;
/** Of the ids of withdrawn keys, the last ones are remembered. */
const MAX_WITHDRAWN_IDS = 1_000;
/** jose wants an address at once. The metadata tell it later, and it may change: `fetchKeySet` knows it. */
const PLACEHOLDER_ADDRESS = new URL('https://issuer.invalid');

export interface IssuerSettings {
  /** Exactly the `iss` of its tokens. */
  readonly name: string;
  /** One of them has to be in a token. Empty if the audience does not matter. */
  readonly audiences: readonly string[];
  /** Of its keys, or undefined if its metadata tell it. */
  readonly keySetAddress: string | undefined;
  readonly OAUTH_ALLOW_HTTP: boolean;
}

/** They are never changed, only replaced. */
interface Keys {
  readonly keySet: JSONWebKeySet;
  /** When they were fetched, in milliseconds of the monotonic clock. */
  readonly fetchedAtMs: number;
  /** Of keys that former sets held. Their tokens are refused, also where another fetch is not allowed yet. */
  readonly withdrawnIds: readonly string[];
}

const NO_KEYS: Keys = { keySet: { keys: [] }, fetchedAtMs: -Infinity, withdrawnIds: [] };

/**
 * - `waiting`: nothing was fetched yet, and nothing restored.
 * - `restored`: the keys that an earlier process fetched are used. The issuer has not answered since the start.
 * - `current`: the keys of the last fetch are used.
 * - `away`: the last fetch failed. The keys of the last one that succeeded are used.
 *
 * `waiting` becomes `restored` or `current`, `restored` becomes `current`, and `current` and `away` become each other.
 * In all of them keys are used for a day after they were fetched.
 */
export type IssuerState =
  | { readonly name: 'waiting' }
  | { readonly name: 'restored' | 'current' | 'away'; readonly keys: Keys };

export type IssuerVerdict =
  /** While the issuer has the same key set, the token need not be verified again. */
  | { readonly outcome: 'accepted'; readonly keySet: JSONWebKeySet }
  | { readonly outcome: 'refused'; readonly reason: 'signature' | 'unknown-key' | 'claims' }
  /** The token may be good: its caller has to come again. */
  | { readonly outcome: 'undecided'; readonly reason: UndecidedReason };

export type UndecidedReason = 'no-signing-keys' | 'signing-keys-not-fetched';

/**
 * The signing keys of one issuer. jose keeps them, selects those that fit a token, and verifies. Ours is when they are
 * fetched: by a timer, so that no request with a known key waits for the issuer, and for a token that may be signed
 * with a key that the issuer has just published. jose's rule for that is not used: it has no pause after a fetch that
 * failed, and never fetches for a token without a key id.
 *
 * Issuers share nothing: an outage or a flood of tokens of one never touches those of another.
 */
export class Issuer {
  private presentState: IssuerState = { name: 'waiting' };
  private remoteKeys = this.createRemoteKeys({});
  private readonly metadataReader: MetadataReader;
  private readonly failure: RepeatedFailure;
  private readonly file: LastGoodFile;
  private fetching: Promise<boolean> | undefined;
  private fetchEndedAtMs = -Infinity;
  private timer: NodeJS.Timeout | undefined;
  private life: 'created' | 'started' | 'stopped' = 'created';

  constructor(
    private readonly settings: IssuerSettings,
    private readonly folder: LastGoodFolder,
    private readonly logger: ServiceLogger,
  ) {
    this.metadataReader = new MetadataReader(settings.name, settings, logger);
    this.failure = new RepeatedFailure(logger, `issuer ${settings.name}`);
    this.file = fileOf(settings.name);
  }

  get name(): string {
    return this.settings.name;
  }

  get state(): IssuerState {
    return this.presentState;
  }

  /** Undefined until they were read, and where the issuer publishes none. */
  get metadata(): IssuerMetadata | undefined {
    return this.metadataReader.metadata;
  }

  /** The keys that tokens are verified with, or undefined if there are none or they are too old. */
  get keySet(): JSONWebKeySet | undefined {
    if (this.presentState.name === 'waiting' || this.secondsUntilRefusal === 0) return undefined;
    return this.presentState.keys.keySet;
  }

  /** Since the keys were fetched; Infinity if they never were. */
  get ageSeconds(): number {
    if (this.presentState.name === 'waiting') return Infinity;
    return (performance.now() - this.presentState.keys.fetchedAtMs) / 1000;
  }

  /** For how long the keys are used if the issuer does not answer; 0 if they are not. */
  get secondsUntilRefusal(): number {
    return Math.max(0, MAX_AGE_MS / 1000 - this.ageSeconds);
  }

  /** Restores what an earlier process saved, and fetches the keys now and again and again until `stop`. Once only. */
  async start(): Promise<void> {
    if (this.life !== 'created') return;
    this.life = 'started';
    const saved = await this.folder.load(this.file);
    if (saved !== undefined) this.restore(saved);
    await this.refresh();
  }

  stop(): void {
    this.life = 'stopped';
    clearTimeout(this.timer);
  }

  /** Never throws. Waits for a fetch only if the token may be signed with a newer key. */
  async verify(token: string, header: ProtectedHeaderParameters): Promise<IssuerVerdict> {
    const { keySet } = this;
    const keyId = header.kid;
    if (!keySet) return { outcome: 'undecided', reason: 'no-signing-keys' };
    const verdict = await this.verifyWith(keySet, token, keyId);
    if (!isUnknownKey(verdict)) return verdict;
    if (!mayBeOfNewKey(header, this.keySetAddress)) return verdict;

    const isFetched = await this.fetchForToken();
    const newKeySet = this.keySet;
    if (newKeySet && newKeySet !== keySet) {
      const newVerdict = await this.verifyWith(newKeySet, token, keyId);
      if (!isUnknownKey(newVerdict)) return newVerdict;
    }
    if (isFetched || this.isWithdrawn(keyId)) return verdict;
    return { outcome: 'undecided', reason: 'signing-keys-not-fetched' };
  }

  /**
   * @param keySet noted before jose verifies. If a fetch ends meanwhile, jose may take a key of this set or of a newer
   *   one, and a token that a withdrawn key verified must not count for the newer set
   */
  private async verifyWith(
    keySet: JSONWebKeySet,
    token: string,
    keyId: string | undefined,
  ): Promise<IssuerVerdict> {
    const { name, audiences } = this.settings;
    const result = await verifyToken(token, this.remoteKeys, { issuer: name, audiences });
    if (result === 'accepted') return { outcome: 'accepted', keySet };
    if (result === 'claims') return { outcome: 'refused', reason: 'claims' };
    const isHeld = keyId !== undefined && keySet.keys.some(({ kid }) => kid === keyId);
    return { outcome: 'refused', reason: isHeld ? 'signature' : 'unknown-key' };
  }

  private isWithdrawn(keyId: string | undefined): boolean {
    const state = this.presentState;
    if (keyId === undefined || state.name === 'waiting') return false;
    return state.keys.withdrawnIds.includes(keyId);
  }

  /** Whether the keys were fetched after the call: only then a key that is still unknown does not exist. */
  private async fetchForToken(): Promise<boolean> {
    const isUnderWay = this.fetching !== undefined;
    if (!isUnderWay && this.isPausing) return false;
    const isFetched = await within(MAX_WAIT_MS, this.fetchKeys());
    return isFetched === true && !isUnderWay;
  }

  private get isPausing(): boolean {
    return performance.now() < this.fetchEndedAtMs + FETCH_PAUSE_MS;
  }

  private async refresh(): Promise<void> {
    const updated = this.metadataReader.update();
    if (this.settings.keySetAddress === undefined) await updated; // they tell the address
    if (!this.isPausing) await this.fetchKeys();
    if (this.life === 'stopped') return;
    this.timer = setTimeout(() => void this.refresh(), this.refreshPauseMs);
    this.timer.unref();
  }

  /** While the issuer does not answer, the pauses grow; not while its tokens cannot be verified. */
  private get refreshPauseMs(): number {
    const { failuresInARow } = this.failure;
    if (failuresInARow === 0) return REFRESH_INTERVAL_MS;
    if (!this.keySet) return FETCH_PAUSE_MS;
    return Math.min(FETCH_PAUSE_MS * 2 ** (failuresInARow - 1), REFRESH_INTERVAL_MS);
  }

  /** Whether it succeeded. There is one fetch at a time: whoever comes meanwhile waits for the same. Never throws. */
  private fetchKeys(): Promise<boolean> {
    if (!this.fetching) this.fetching = this.fetchOnce();
    return this.fetching;
  }

  private async fetchOnce(): Promise<boolean> {
    const startedAtMs = performance.now();
    try {
      await this.remoteKeys.reload();
      this.becomeCurrent(startedAtMs);
      return true;
    } catch (error) {
      this.becomeAway(error);
      return false;
    } finally {
      this.fetchEndedAtMs = performance.now();
      this.fetching = undefined;
    }
  }

  /** `waiting` → `restored`. Before the first fetch. */
  private restore(saved: unknown): void {
    try {
      if (!isSavedKeys(saved)) throw new Error('it holds no keys');
      const ageMs = Date.now() - saved.fetchedAt;
      if (ageMs < 0) throw new Error('its keys were fetched in the future: a clock was set back');
      if (ageMs >= MAX_AGE_MS) throw new Error('its keys are older than 24 hours');
      const { keySet, fetchedAt } = saved;
      this.remoteKeys = this.createRemoteKeys({ jwks: keySet, uat: fetchedAt });
      if (!this.remoteKeys.jwks()) throw new Error('its keys are no key set');
      const fetchedAtMs = performance.now() - ageMs;
      this.presentState = { name: 'restored', keys: { keySet, fetchedAtMs, withdrawnIds: [] } };
      this.logger.log({
        message: 'LAST_GOOD_FOLDER: signing keys are restored',
        issuer: this.name,
      });
    } catch (error) {
      this.folder.ignored(this.file, messageOf(error));
    }
  }

  /** `waiting`, `restored`, `current` or `away` → `current`. */
  private becomeCurrent(fetchedAtMs: number): void {
    const former = this.presentState.name === 'waiting' ? NO_KEYS : this.presentState.keys;
    const fetched = this.remoteKeys.jwks() ?? former.keySet;
    const isSame = isDeepStrictEqual(former.keySet, fetched);
    // The same object where nothing changed: tokens that were verified with it stay so
    const keySet = isSame ? former.keySet : fetched;
    const withdrawnIds = withdrawnIdsOf(former, keySet);
    this.presentState = { name: 'current', keys: { keySet, fetchedAtMs, withdrawnIds } };
    this.failure.succeeded();
    if (!isSame) this.logChange(keySet);
    const fetchedAt = Date.now() - (performance.now() - fetchedAtMs);
    void this.folder.save(this.file, { keySet, fetchedAt } satisfies SavedKeys);
  }

  /** `current` → `away`. Other states stay what they are. */
  private becomeAway(error: unknown): void {
    const state = this.presentState;
    if (state.name === 'current') this.presentState = { name: 'away', keys: state.keys };
    this.metadataReader.expire(); // the key set may have moved
    this.failure.failed(error, this.impactOfFailure);
  }

  /** What it means for callers if the issuer stays away. */
  private get impactOfFailure(): CallerImpact {
    if (this.presentState.name === 'waiting') return { name: 'refused' };
    return refusedIn(this.secondsUntilRefusal);
  }

  private logChange({ keys }: JSONWebKeySet): void {
    const keyIds = keys.map(({ kid }) => kid);
    this.logger.log({ message: 'issuer: other signing keys', issuer: this.name, keyIds });
  }

  /** It never fetches on its own: only its `reload` does. */
  private createRemoteKeys(cache: JWKSCacheInput) {
    return createRemoteJWKSet(PLACEHOLDER_ADDRESS, {
      cooldownDuration: Infinity,
      cacheMaxAge: Infinity,
      [jwksCache]: cache,
      [customFetch]: () => this.fetchKeySet(),
    });
  }

  private async fetchKeySet(): Promise<Response> {
    const { keySetAddress, metadataReader } = this;
    if (keySetAddress !== undefined) return Response.json(await fetchJson(keySetAddress));
    const { error } = metadataReader;
    throw new Error('the address of its keys is not known', { cause: error });
  }

  private get keySetAddress(): string | undefined {
    return this.settings.keySetAddress ?? this.metadata?.jwks_uri;
  }
}

function withdrawnIdsOf(former: Keys, present: JSONWebKeySet): readonly string[] {
  const presentIds = new Set(present.keys.map(({ kid }) => kid));
  const ids = new Set(former.withdrawnIds);
  for (const { kid } of former.keySet.keys) if (kid !== undefined) ids.add(kid);
  return [...ids].filter((id) => !presentIds.has(id)).slice(-MAX_WITHDRAWN_IDS);
}

function isUnknownKey(verdict: IssuerVerdict): boolean {
  return verdict.outcome === 'refused' && verdict.reason === 'unknown-key';
}

/** The result of the work, or undefined if it takes longer. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
