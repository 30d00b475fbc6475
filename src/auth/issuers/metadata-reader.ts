import { RepeatedFailure } from '../../telemetry/repeated-failure.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { type IssuerMetadata, discover } from './discovery.js';

/** A key set that moved is found within ten minutes, although its old address still answers. */
const INTERVAL_MS = 8 * 60_000;

/** Reads the metadata of an issuer again and again. While they cannot be read, the former ones stay. */
export class MetadataReader {
  /** Undefined until they were read, and where the issuer has none. */
  metadata: IssuerMetadata | undefined;
  /** Why they could not be read the last time. */
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

  /** The next update reads them, however new they are. */
  expire(): void {
    this.dueAtMs = -Infinity;
  }

  /** Reads them if it is time. Never throws. */
  async update(): Promise<void> {
    if (performance.now() < this.dueAtMs) return;
    try {
      this.metadata = await discover(this.issuer, this.settings);
      this.error = undefined;
      this.dueAtMs = performance.now() + INTERVAL_MS;
      this.failure.succeeded();
    } catch (error) {
      this.error = error;
      // Without former metadata no keys can be fetched, whose failure is logged with this one as its cause
      if (this.metadata) this.failure.failed(error, { name: 'none' });
    }
  }
}
