import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Metrics } from '../telemetry/metrics.js';
import { HealthService, PARTS } from './health.service.js';

/** The health of the process as metrics, for alerts. */
@Injectable()
export class HealthMetrics {
  constructor(
    health: HealthService,
    apiKeys: ApiKeysService,
    issuers: IssuersService,
    metrics: Metrics,
  ) {
    metrics.addGauge({
      name: 'ready',
      help: '1 while callers can be answered',
      collect: (gauge) => gauge.set(health.isReady ? 1 : 0),
    });
    metrics.addGauge({
      name: 'served_from_file',
      help: '1 while codes, keys or signing-keys are served from LAST_GOOD_FOLDER',
      labelNames: ['what'],
      collect: (gauge) => {
        const { restoredParts } = health;
        for (const part of PARTS) gauge.set({ what: part }, restoredParts.includes(part) ? 1 : 0);
      },
    });
    metrics.addGauge({
      name: 'seconds_until_refusal',
      help: 'Until callers are refused because keys or signing-keys are too old to be used',
      labelNames: ['what'],
      collect: (gauge) => {
        if (apiKeys.polled.value) gauge.set({ what: 'keys' }, apiKeys.secondsUntilRefusal);
        const ofIssuers = issuers.all.map(({ secondsUntilRefusal }) => secondsUntilRefusal);
        gauge.set({ what: 'signing-keys' }, Math.min(...ofIssuers));
      },
    });
  }
}
