import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { type IssuerMetadata, discover } from './discovery.js';

/** A key set that moved is found within ten minutes, although its former address still answers. */
const INTERVAL_MS = 8 * 60_000;
/** While known metadata cannot be read, few fetches of the keys wait for another try. */
const RETRY_INTERVAL_MS = 60_000;

/** Reads the metadata of an issuer again and again. While they cannot be read, the former ones stay. */
export class MetadataReader {
  /** Undefined until the metadata were read, and where the issuer publishes none. */
  metadata: IssuerMetadata | undefined;
  /** Why the last reading failed. */
  error: unknown;
  private dueAtMs = -Infinity;
  private readonly failure: RepeatedFailure;

  constructor(
    private readonly issuer: string,
    private readonly settings: { readonly OAUTH_ALLOW_HTTP: boolean },
    logger: ServiceLogger,
  ) {
    this.failure = new RepeatedFailure(logger, `metadata of issuer ${issuer}`);
  }

  /** The next update reads the metadata, however new they are. */
  expire(): void {
    this.dueAtMs = -Infinity;
  }

  /** Reads the metadata if it is time. Never throws. */
  async update(): Promise<void> {
    if (performance.now() < this.dueAtMs) return;
    try {
      this.metadata = await discover(this.issuer, this.settings);
      this.error = undefined;
      this.dueAtMs = performance.now() + INTERVAL_MS;
      this.failure.succeeded();
    } catch (error) {
      this.error = error;
      if (!this.metadata) return; // no keys can be fetched either: that failure is logged, with this one as its cause
      this.dueAtMs = performance.now() + RETRY_INTERVAL_MS;
      this.failure.failed(error, { name: 'none' });
    }
  }
}
