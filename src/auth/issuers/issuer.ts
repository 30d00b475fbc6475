import type { ProtectedHeaderParameters } from 'jose';
import { type CallerImpact, RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import type { IssuerMetadata } from './discovery.js';
import { fetchJson } from './fetch-json.js';
import { FetchSchedule } from './fetch-schedule.js';
import { KeySet } from './key-set.js';
import { MetadataReader } from './metadata-reader.js';
import { mayBeOfNewKey } from './new-key.js';
import { SigningKeys } from './signing-keys.js';
import { verifyToken } from './verify-token.js';

export interface IssuerSettings {
  /** The exact `iss` of its tokens. */
  readonly name: string;
  /** A token has to be for one of these audiences. The list is empty if the audience does not matter. */
  readonly audiences: readonly string[];
  /** The address of the key set, or undefined if the metadata of the issuer tell it. */
  readonly keySetAddress: string | undefined;
  readonly OAUTH_ALLOW_HTTP: boolean;
}

export type IssuerVerdict =
  /** The token need not be verified again while the issuer has the same key set. */
  | { readonly outcome: 'accepted'; readonly keySet: KeySet }
  | { readonly outcome: 'refused'; readonly reason: TokenRefusal }
  /** The token may be good: its caller has to try again. */
  | { readonly outcome: 'undecided'; readonly reason: UndecidedReason };

export type TokenRefusal = 'signature' | 'unknown-key' | 'claims';
export type UndecidedReason = 'no-signing-keys' | 'signing-keys-not-fetched';

const UNKNOWN_KEY: IssuerVerdict = { outcome: 'refused', reason: 'unknown-key' };

/**
 * Verifies the tokens of one issuer. `SigningKeys` knows which keys count, `FetchSchedule` when they are fetched; this
 * class fetches them, and judges tokens with them.
 *
 * Issuers share nothing: an outage or a flood of tokens of one issuer never touches those of another.
 */
export class Issuer {
  readonly signingKeys = new SigningKeys();
  private readonly metadataReader: MetadataReader;
  private readonly schedule: FetchSchedule;
  private readonly fetchFailure: RepeatedFailure;
  private life: 'created' | 'started' | 'stopped' = 'created';

  constructor(
    private readonly settings: IssuerSettings,
    private readonly logger: ServiceLogger,
  ) {
    this.metadataReader = new MetadataReader({
      issuer: settings.name,
      areNeeded: settings.keySetAddress === undefined,
      OAUTH_ALLOW_HTTP: settings.OAUTH_ALLOW_HTTP,
      logger,
    });
    this.schedule = new FetchSchedule({
      fetchKeys: () => this.fetchKeys(),
      hasKeys: () => this.signingKeys.keySet !== undefined,
    });
    this.fetchFailure = new RepeatedFailure(logger, `issuer ${settings.name}`);
  }

  get name(): string {
    return this.settings.name;
  }

  /** Undefined until the metadata were read, and where the issuer publishes none. */
  get metadata(): IssuerMetadata | undefined {
    return this.metadataReader.metadata;
  }

  /** Fetches keys from now on until `stop`. A second call does nothing. */
  async start(): Promise<void> {
    if (this.life !== 'created') return;
    this.life = 'started';
    await this.schedule.start();
  }

  /** No fetch begins from now on, and what a running one brings is dropped. */
  stop(): void {
    this.life = 'stopped';
    this.schedule.stop();
  }

  /** Never throws. Only a token that may be signed with a newer key waits for a fetch. */
  async verify(token: string, header: ProtectedHeaderParameters): Promise<IssuerVerdict> {
    const { keySet } = this.signingKeys;
    if (!keySet) return { outcome: 'undecided', reason: 'no-signing-keys' };
    const verdict = await this.verifyWith(keySet, token, header.kid);
    if (!isUnknownKey(verdict)) return verdict;
    if (!mayBeOfNewKey(header, this.keySetAddress)) return verdict;

    const isFetched = await this.schedule.fetchForToken();
    const newKeySet = this.signingKeys.keySet;
    if (newKeySet && newKeySet !== keySet) {
      const newVerdict = await this.verifyWith(newKeySet, token, header.kid);
      if (!isUnknownKey(newVerdict)) return newVerdict;
    }
    if (isFetched || this.signingKeys.isWithdrawn(header.kid)) return UNKNOWN_KEY;
    return { outcome: 'undecided', reason: 'signing-keys-not-fetched' };
  }

  private async verifyWith(keySet: KeySet, token: string, keyId: string | undefined): Promise<IssuerVerdict> {
    const { name, audiences } = this.settings;
    const check = await verifyToken(token, keySet.select, { issuer: name, audiences });
    if (check === 'accepted') return { outcome: 'accepted', keySet };
    if (check === 'claims') return { outcome: 'refused', reason: 'claims' };
    const isHeld = keyId !== undefined && keySet.holds(keyId);
    return isHeld ? { outcome: 'refused', reason: 'signature' } : UNKNOWN_KEY;
  }

  /** Whether it succeeded. Never throws: a failure is logged, and the former keys stay. */
  private async fetchKeys(): Promise<boolean> {
    const startedAtMonotonicMs = performance.now();
    try {
      const keySet = await this.fetchKeySet();
      if (this.life === 'stopped') return false;
      this.keysFetched(keySet, startedAtMonotonicMs);
      return true;
    } catch (error) {
      if (this.life !== 'stopped') this.fetchFailed(error);
      return false;
    }
  }

  /** @throws Error if the issuer does not answer with a key set */
  private async fetchKeySet(): Promise<KeySet> {
    const reading = this.metadataReader.update();
    if (this.settings.keySetAddress === undefined) await reading; // the metadata tell the address
    const { keySetAddress, metadataReader } = this;
    if (keySetAddress === undefined) {
      throw new Error('the address of its keys is not known', { cause: metadataReader.error });
    }
    return new KeySet(await fetchJson(keySetAddress));
  }

  private keysFetched(keySet: KeySet, startedAtMonotonicMs: number): void {
    const areOthers = this.signingKeys.fetched(keySet, startedAtMonotonicMs);
    this.fetchFailure.succeeded();
    if (!areOthers) return;
    const message = 'issuer: other signing keys';
    this.logger.log({ message, issuer: this.name, keyIds: keySet.keyIds });
  }

  private fetchFailed(error: unknown): void {
    this.signingKeys.fetchFailed();
    this.metadataReader.keySetFailed(); // it may have moved
    this.fetchFailure.failed(error, this.callerImpact);
  }

  private get callerImpact(): CallerImpact {
    const { secondsUntilRefusal } = this.signingKeys;
    if (secondsUntilRefusal === 0) return { name: 'refused' };
    return { name: 'refused-later', secondsLeft: secondsUntilRefusal };
  }

  private get keySetAddress(): string | undefined {
    return this.settings.keySetAddress ?? this.metadata?.jwks_uri;
  }
}

function isUnknownKey(verdict: IssuerVerdict): boolean {
  return verdict.outcome === 'refused' && verdict.reason === 'unknown-key';
}
