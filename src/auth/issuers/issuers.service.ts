import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import { ServiceLogger } from '../../telemetry/service-logger.js';
import { Issuer, NO_KEYS } from './issuer.js';

@Injectable()
export class IssuersService implements OnApplicationBootstrap {
  /** In the order of OAUTH_ISSUER. */
  readonly all: readonly Issuer[];

  constructor(configuration: Configuration, logger: ServiceLogger, metrics: Metrics) {
    this.all = configuration.OAUTH_ISSUER.map((name) => new Issuer(name, configuration, logger));
    metrics.addGauge({
      name: 'jwks_age_seconds',
      help: 'Since the keys were fetched',
      labelNames: ['issuer'],
      collect: (gauge) => {
        for (const { name, keySet, age } of this.all) if (keySet) gauge.set({ issuer: name }, age);
      },
    });
    metrics.addGauge({
      name: 'jwks_keys',
      help: 'Keys in the key set',
      labelNames: ['issuer'],
      collect: (gauge) => {
        for (const { name, keys } of this.all) {
          gauge.set({ issuer: name }, keys?.jwks.keys.length ?? 0);
        }
      },
    });
  }

  get(name: unknown): Issuer | undefined {
    return this.all.find((issuer) => issuer.name === name);
  }

  /** Why no caller can be accepted now. */
  get obstacle(): string | undefined {
    return this.all.some(({ keys }) => keys !== undefined) ? undefined : NO_KEYS;
  }

  onApplicationBootstrap(): void {
    for (const issuer of this.all) void issuer.refresh();
  }
}
