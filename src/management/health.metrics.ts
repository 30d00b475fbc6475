import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Metrics } from '../telemetry/metrics.js';
import { HealthService } from './health.service.js';

/** The health of the process as metrics, for alerts. */
@Injectable()
export class HealthMetrics {
  constructor(health: HealthService, apiKeys: ApiKeysService, issuers: IssuersService, metrics: Metrics) {
    metrics.addGauge({
      name: 'ready',
      help: '1 while callers can be answered',
      collect: (gauge) => gauge.set(health.isReady ? 1 : 0),
    });
    metrics.addGauge({
      name: 'seconds_until_refusal',
      help: 'How long keys, or signing-keys of an issuer, can be used without another answer; 0 if none can be now',
      labelNames: ['what', 'issuer'],
      collect: (gauge) => {
        if (apiKeys.polled.value) gauge.set({ what: 'keys' }, apiKeys.secondsUntilRefusal);
        for (const { name: issuer, secondsUntilRefusal } of issuers.all) {
          gauge.set({ what: 'signing-keys', issuer }, secondsUntilRefusal);
        }
      },
    });
  }
}
