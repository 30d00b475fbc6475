import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { CodesService } from '../lookups/codes.service.js';
import { Replies } from '../http/replies.js';
import { Metrics, measureOnScrape } from '../telemetry/metrics.js';

/** Whether the process can answer callers. The database is not asked: its outage must not take out all replicas at once. */
@Injectable()
export class HealthService {
  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    private readonly replies: Replies,
    { servedFromFile }: Metrics,
  ) {
    measureOnScrape(servedFromFile, () => {
      for (const [what, isServed] of Object.entries(this.restored))
        servedFromFile.set({ what }, Number(isServed));
    });
  }

  /** What operators are told of a service that is ready: what it serves from LAST_GOOD_FILE, and what of the database it refuses to serve. */
  get remarks(): { fromFile?: string[]; refused?: string[] } {
    const fromFile = Object.entries(this.restored).flatMap(([what, is]) => (is ? [what] : []));
    const { refusal } = this.codes;
    return { ...(fromFile.length > 0 && { fromFile }), ...(refusal && { refused: [refusal] }) };
  }

  /** Why the service is not ready, in sentences; empty if it is ready. */
  get obstacles(): string[] {
    const { replies, codes, apiKeys, issuers } = this;
    const drain = replies.isDraining ? 'The service is shutting down.' : undefined;
    const all = [drain, codes.obstacle, apiKeys.obstacle, issuers.obstacle];
    return all.filter((obstacle) => obstacle !== undefined);
  }

  private get restored(): Record<'codes' | 'keys' | 'signing-keys', boolean> {
    return {
      codes: this.codes.snapshot.isRestored,
      keys: this.apiKeys.snapshot.isRestored,
      'signing-keys': this.issuers.all.some(({ isRestored }) => isRestored),
    };
  }
}
