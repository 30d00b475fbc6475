import { isDeepStrictEqual } from 'node:util';
import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { type IssuerMetadata, discover } from './discovery.js';
import { KeySet, REFRESH_INTERVAL_MS, RETRY_INTERVAL_MS } from './key-set.js';
import type { SigningKeys } from './signing-keys.js';

export interface IssuerSettings {
  /** The exact `iss` of the issuer's tokens. */
  readonly name: string;
  /** The address of the key set; undefined if only the metadata of the issuer name it. */
  readonly keySetAddress: string | undefined;
  readonly OAUTH_ALLOW_HTTP: boolean;
}

/**
 * An issuer of access tokens. Its metadata and its keys are fetched at intervals. Issuers share nothing, so that an
 * outage of one issuer, or a flood of its tokens, never affects another issuer.
 */
export class Issuer {
  private readonly keySet: KeySet;
  private lastMetadata: IssuerMetadata | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isReadingMetadata = false;
  private isStopped = false;
  private readonly metadataFailure: RepeatedFailure;

  constructor(
    private readonly settings: IssuerSettings,
    private readonly logger: ServiceLogger,
  ) {
    this.keySet = new KeySet(settings.name, settings.keySetAddress, logger);
    this.metadataFailure = new RepeatedFailure(logger, `metadata of issuer ${settings.name}`);
  }

  get name(): string {
    return this.settings.name;
  }

  /** Undefined until the metadata were read once, which may never happen for an issuer with OAUTH_JWKS_URI. */
  get metadata(): IssuerMetadata | undefined {
    return this.lastMetadata;
  }

  get keys(): SigningKeys | undefined {
    return this.keySet.keys;
  }

  get keyCount(): number {
    return this.keys?.usableCount ?? 0;
  }

  get ageSeconds(): number {
    return this.keySet.ageSeconds;
  }

  get secondsUntilRefusal(): number {
    return this.keySet.secondsUntilRefusal;
  }

  get isFetching(): boolean {
    return this.isReadingMetadata || this.keySet.isFetching;
  }

  /** Fetches metadata and keys now and at intervals until `stop`. */
  async start(): Promise<void> {
    await Promise.all([this.refreshMetadata(), this.keySet.refresh()]);
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.keySet.stop();
  }

  /** @returns all keys, even if the wanted key is not among them. Undefined if the fetch failed: the key may exist */
  async findNewKeys(keyId: string): Promise<SigningKeys | undefined> {
    return this.keySet.findNewKeys(keyId);
  }

  private async refreshMetadata(): Promise<void> {
    this.isReadingMetadata = true;
    await this.readMetadata();
    this.isReadingMetadata = false;
    this.scheduleMetadata();
    const { lastMetadata, settings } = this;
    // Without OAUTH_JWKS_URI, the first fetch of the keys begins here. A fetch also begins if the address changes
    if (lastMetadata && settings.keySetAddress === undefined) await this.keySet.moveTo(lastMetadata.jwks_uri);
  }

  /** Never throws: a failure is logged, and the former metadata stay. */
  private async readMetadata(): Promise<void> {
    try {
      const metadata = await discover(this.name, this.settings);
      // Equal metadata do not replace the object: for a new object OpenApiController makes its documents again
      if (!isDeepStrictEqual(metadata, this.lastMetadata)) this.lastMetadata = metadata;
      this.metadataFailure.noteSuccess();
    } catch (error) {
      this.logMetadataFailure(error);
    }
  }

  /**
   * Logs a failure. Without OAUTH_JWKS_URI only the metadata name the address of the keys, so callers are refused until
   * the metadata were read once. With OAUTH_JWKS_URI there is no warning, because such an issuer may have no metadata.
   */
  private logMetadataFailure(error: unknown): void {
    const { name, keySetAddress } = this.settings;
    if (this.lastMetadata) {
      this.metadataFailure.noteFailure(error, { callers: 'unaffected' });
    } else if (keySetAddress === undefined) {
      this.metadataFailure.noteFailure(error, { callers: 'refused' });
    } else {
      const message = 'issuer: no metadata, so /docs and the contract lack its endpoints';
      this.logger.debug({ message, issuer: name, error });
    }
  }

  private scheduleMetadata(): void {
    if (this.isStopped) return;
    const areNeeded = this.lastMetadata === undefined && this.settings.keySetAddress === undefined;
    const delayMs = areNeeded ? RETRY_INTERVAL_MS : REFRESH_INTERVAL_MS;
    this.timer = setTimeout(() => void this.refreshMetadata(), delayMs).unref();
  }
}
