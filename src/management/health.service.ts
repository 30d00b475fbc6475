import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Draining } from '../http/draining.js';
import { CodesService } from '../lookups/codes.service.js';
import { Metrics } from '../telemetry/metrics.js';

/**
 * Decides whether the process can answer callers, for `/health/ready` and for alerts. It asks neither the database nor
 * an issuer: otherwise an outage of one of these would take all replicas out of the balancer.
 */
@Injectable()
export class HealthService {
  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    private readonly draining: Draining,
    metrics: Metrics,
  ) {
    this.addGauges(metrics);
  }

  get isReady(): boolean {
    return this.unavailableReasons.length === 0;
  }

  get unavailableReasons(): readonly string[] {
    const reasons = [
      this.draining.isDraining ? 'The service is shutting down.' : undefined,
      this.codes.unavailableReason,
      this.apiKeys.unavailableReason,
      this.issuers.unavailableReason,
    ];
    return reasons.filter((reason) => reason !== undefined);
  }

  private addGauges(metrics: Metrics): void {
    metrics.addGauge({
      name: 'ready',
      help: '1 while callers can be answered',
      collect: (gauge) => gauge.set(this.isReady ? 1 : 0),
    });
    metrics.addGauge({
      name: 'seconds_until_refusal',
      help:
        'Seconds until API keys (what="keys"), or the signing keys of an issuer, are too old to be used; 0 if they are ' +
        'too old or missing. There is no series for API keys before their first reading',
      labelNames: ['what', 'issuer'],
      collect: (gauge) => {
        if (this.apiKeys.topic.value) gauge.set({ what: 'keys' }, this.apiKeys.secondsUntilRefusal);
        for (const { name: issuer, secondsUntilRefusal } of this.issuers.all) {
          gauge.set({ what: 'signing-keys', issuer }, secondsUntilRefusal);
        }
      },
    });
  }
}
