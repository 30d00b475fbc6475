import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Draining } from '../http/draining.js';
import { CodesService } from '../lookups/codes.service.js';

/** These parts are read from elsewhere, and kept in LAST_GOOD_FOLDER. */
export const PARTS = ['codes', 'keys', 'signing-keys'] as const;
export type Part = (typeof PARTS)[number];

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

  /** The parts that are served from LAST_GOOD_FOLDER, since the database or an issuer has not answered yet. */
  get partsServedFromFile(): readonly Part[] {
    const isIssuerOfFile = this.issuers.all.some(({ signingKeys }) => signingKeys.isServedFromFile);
    const parts: Part[] = [];
    if (this.codes.polled.isRestored) parts.push('codes');
    if (this.apiKeys.isServedFromFile) parts.push('keys');
    if (isIssuerOfFile) parts.push('signing-keys');
    return parts;
  }
}
