import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { type IssuerMetadata, discover } from './discovery.js';

/**
 * Metadata are read again after this time, with the next fetch of the keys, which comes within a minute. So a key set
 * that moved is found within ten minutes, although its former address still answers.
 */
const INTERVAL_MS = 8 * 60_000;
/** After a failure they are not read again sooner, since the next fetch of the keys waits for it, up to 4 s. */
const RETRY_INTERVAL_MS = 60_000;

interface MetadataReaderOptions {
  readonly issuer: string;
  /** Whether the metadata have to name the address of the key set, since OAUTH_JWKS_URI does not. */
  readonly areNeeded: boolean;
  readonly OAUTH_ALLOW_HTTP: boolean;
  readonly logger: ServiceLogger;
}

/**
 * Reads the metadata of an issuer again and again. While they cannot be read, the former ones stay. An issuer whose key
 * set is named by OAUTH_JWKS_URI may publish none: then only /docs and the OpenAPI document lack its endpoints.
 */
export class MetadataReader {
  private readMetadata: IssuerMetadata | undefined;
  private lastError: unknown;
  private dueAtMs = -Infinity;
  private readonly failure: RepeatedFailure;

  constructor(private readonly options: MetadataReaderOptions) {
    this.failure = new RepeatedFailure(options.logger, `metadata of issuer ${options.issuer}`);
  }

  /** Undefined until the metadata were read, and where the issuer publishes none. */
  get metadata(): IssuerMetadata | undefined {
    return this.readMetadata;
  }

  /** Why the last reading failed, or undefined. */
  get error(): unknown {
    return this.lastError;
  }

  /** The key set could not be fetched. If the metadata name its address, they are read with the next update. */
  keySetFailed(): void {
    if (this.options.areNeeded) this.dueAtMs = -Infinity;
  }

  /** Reads the metadata if it is time. Never throws. */
  async update(): Promise<void> {
    if (performance.now() < this.dueAtMs) return;
    try {
      this.readMetadata = await discover(this.options.issuer, this.options);
    } catch (error) {
      this.readingFailed(error);
      return;
    }
    this.lastError = undefined;
    this.dueAtMs = performance.now() + INTERVAL_MS;
    this.failure.succeeded();
  }

  private readingFailed(error: unknown): void {
    const { areNeeded, issuer, logger } = this.options;
    const isFirstFailure = this.lastError === undefined;
    this.lastError = error;
    // Without needed metadata no keys can be fetched: the next fetch tries again, and logs this error as its cause
    if (areNeeded && !this.readMetadata) return;
    this.dueAtMs = performance.now() + RETRY_INTERVAL_MS;
    if (this.readMetadata) {
      this.failure.failed(error, { name: 'none' });
      return;
    }
    const message = 'issuer: no metadata, so /docs and the OpenAPI document lack its endpoints';
    if (isFirstFailure) logger.debug({ message, issuer, error });
  }
}
