import { Injectable } from '@nestjs/common';
import { Metrics } from '../../telemetry/metrics.js';
import { ApiKeysService } from './api-keys.service.js';

/** Tells administrators in time that a key will end. */
@Injectable()
export class KeyExpiryMetric {
  constructor(apiKeys: ApiKeysService, metrics: Metrics) {
    metrics.addGauge({
      name: 'next_key_expiry_seconds',
      help: 'Until the first API key in force ends, or +Inf',
      collect: (gauge) => gauge.set(apiKeys.secondsUntilNextExpiry),
    });
  }
}
