import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { Log } from '../../telemetry/log.js';
import { Metrics } from '../../telemetry/metrics.js';
import { Issuer, NO_KEYS } from './issuer.js';

@Injectable()
export class IssuersService implements OnApplicationBootstrap {
  /** In the order of OAUTH_ISSUER. */
  readonly all: readonly Issuer[];

  constructor(configuration: Configuration, log: Log, metrics: Metrics) {
    this.all = configuration.OAUTH_ISSUER.map((name) => new Issuer(name, configuration, log));
    metrics.measure(['jwks_age_seconds', 'Since the keys were fetched', 'issuer'], (gauge) => {
      for (const { name, keySet, age } of this.all) if (keySet) gauge.set({ issuer: name }, age);
    });
    metrics.measure(['jwks_keys', 'Keys in the key set', 'issuer'], (gauge) => {
      for (const one of this.all) gauge.set({ issuer: one.name }, one.keys?.jwks.keys.length ?? 0);
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
