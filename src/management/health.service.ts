import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Draining } from '../http/draining.js';
import { CodesService } from '../lookups/codes.service.js';

/**
 * Knows whether the process can answer callers. It asks neither the database nor an issuer: their outage must not take
 * out all replicas at once.
 */
@Injectable()
export class HealthService {
  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    private readonly draining: Draining,
  ) {}

  get isReady(): boolean {
    return this.unavailableReasons.length === 0;
  }

  /** Sentences that say why the service is not ready. */
  get unavailableReasons(): readonly string[] {
    const reasons = [
      this.draining.isDraining ? 'The service is shutting down.' : undefined,
      this.codes.unavailableReason,
      this.apiKeys.unavailableReason,
      this.issuers.unavailableReason,
    ];
    return reasons.filter((reason) => reason !== undefined);
  }

  /** Sentences about what the database holds and cannot be served. The service may be ready nevertheless. */
  get unservableContent(): readonly string[] {
    const { unservableReason } = this.codes;
    return unservableReason === undefined ? [] : [unservableReason];
  }
}
