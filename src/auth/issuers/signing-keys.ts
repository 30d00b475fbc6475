import type { KeySet } from './key-set.js';

/** Keys that were fetched longer ago are not used, even if the issuer does not answer. */
const MAX_AGE_MS = 24 * 3_600_000;
/**
 * Only the last ids of withdrawn keys are remembered. A token of an older one is judged like one of an unknown key: it
 * causes a fetch where one is allowed, and gets 503 instead of 401 where none is.
 */
const MAX_WITHDRAWN_IDS = 1_000;

/** A key set with what is known of it. These objects are never changed, only replaced. */
interface FetchedKeys {
  readonly keySet: KeySet;
  readonly fetchedAtMonotonicMs: number;
  /** The ids that former key sets held and this one lacks. */
  readonly withdrawnIds: readonly string[];
}

export type SigningKeysState =
  { readonly name: 'waiting' } | { readonly name: 'current' | 'away'; readonly keys: FetchedKeys };

/**
 * The signing keys of one issuer. Whoever fetches keys says what came of it by one of the two methods at the end.
 *
 * | State      | Keys that verify tokens                       | Left by                              |
 * |------------|-----------------------------------------------|--------------------------------------|
 * | `waiting`  | none: no keys were fetched yet                | `fetched`                            |
 * | `current`  | those of the last fetch                       | `fetchFailed`                        |
 * | `away`     | those of the last fetch that succeeded        | `fetched`                            |
 *
 * In every state, keys that were fetched a day ago verify nothing any more.
 */
export class SigningKeys {
  private currentState: SigningKeysState = { name: 'waiting' };

  get state(): SigningKeysState {
    return this.currentState;
  }

  /** The key set that verifies tokens, or undefined if there is none or it is too old. It may be empty. */
  get keySet(): KeySet | undefined {
    if (this.ageMs >= MAX_AGE_MS) return undefined;
    return this.fetchedKeys?.keySet;
  }

  /** How many keys can verify a token now. */
  get verifyingKeyCount(): number {
    return this.keySet?.verifyingKeyCount ?? 0;
  }

  /** Seconds since the keys were fetched; Infinity if they never were. */
  get ageSeconds(): number {
    return this.ageMs / 1000;
  }

  /** How long tokens can still be accepted if the issuer does not answer; 0 while none can be. */
  get secondsUntilRefusal(): number {
    if (this.verifyingKeyCount === 0) return 0;
    return Math.max(0, MAX_AGE_MS - this.ageMs) / 1000;
  }

  /** Whether a former key set held this id, and the present one does not. */
  isWithdrawn(keyId: string | undefined): boolean {
    if (keyId === undefined || !this.fetchedKeys) return false;
    return this.fetchedKeys.withdrawnIds.includes(keyId);
  }

  /**
   * Every state → `current`. A key set that is equal to the former one does not replace it: tokens are remembered with
   * the key set that verified them, and all of them would have to be verified again each minute.
   * @param fetchedAtMonotonicMs when the fetch began: the issuer may have changed the keys since
   * @returns whether these are other keys than before
   */
  fetched(fetchedKeySet: KeySet, fetchedAtMonotonicMs: number): boolean {
    const former = this.fetchedKeys;
    const isSame = former !== undefined && fetchedKeySet.isEqualTo(former.keySet);
    const keySet = isSame ? former.keySet : fetchedKeySet;
    const withdrawnIds = withdrawnIdsAfter(former, keySet);
    this.currentState = { name: 'current', keys: { keySet, fetchedAtMonotonicMs, withdrawnIds } };
    return !isSame;
  }

  /** `current` → `away`. Other states stay as they are. */
  fetchFailed(): void {
    if (this.currentState.name !== 'current') return;
    this.currentState = { name: 'away', keys: this.currentState.keys };
  }

  private get ageMs(): number {
    if (!this.fetchedKeys) return Infinity;
    return performance.now() - this.fetchedKeys.fetchedAtMonotonicMs;
  }

  private get fetchedKeys(): FetchedKeys | undefined {
    return this.currentState.name === 'waiting' ? undefined : this.currentState.keys;
  }
}

function withdrawnIdsAfter(former: FetchedKeys | undefined, present: KeySet): readonly string[] {
  if (!former) return [];
  const formerIds = new Set([...former.withdrawnIds, ...former.keySet.keyIds]);
  return [...formerIds].filter((id) => !present.holds(id)).slice(-MAX_WITHDRAWN_IDS);
}
