import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Draining } from '../http/draining.js';
import { CodesService } from '../lookups/codes.service.js';

/** What is read from elsewhere, and kept in LAST_GOOD_FOLDER. */
export const PARTS = ['codes', 'keys', 'signing-keys'] as const;
export type Part = (typeof PARTS)[number];

/**
 * Whether the process can answer callers. Neither the database nor an issuer is asked: their outage must not take out
 * all replicas at once.
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
    return this.obstacles.length === 0;
  }

  /** Why the service is not ready, in sentences. */
  get obstacles(): readonly string[] {
    const drain = this.draining.isDraining ? 'The service is shutting down.' : undefined;
    const all = [
      drain,
      this.codes.unavailableReason,
      this.apiKeys.unavailableReason,
      this.issuers.obstacle,
    ];
    return all.filter((obstacle) => obstacle !== undefined);
  }

  /** What the database holds and the service does not serve, in sentences. The service may be ready nevertheless. */
  get refusals(): readonly string[] {
    const { unservableReason } = this.codes;
    return unservableReason === undefined ? [] : [unservableReason];
  }

  /** What is served from LAST_GOOD_FOLDER, since the database or an issuer has not answered yet. */
  get restoredParts(): readonly Part[] {
    const isIssuerRestored = this.issuers.all.some(({ state }) => state.name === 'restored');
    const parts: Part[] = [];
    if (this.codes.polled.isRestored) parts.push('codes');
    if (this.apiKeys.polled.isRestored) parts.push('keys');
    if (isIssuerRestored) parts.push('signing-keys');
    return parts;
  }
}
