import {
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { LastGoodFolder } from '../../snapshots/last-good-folder.js';
import { Metrics } from '../../telemetry/metrics.js';
import { ServiceLogger } from '../../telemetry/service-logger.js';
import { Issuer } from './issuer.js';

/** The issuers whose tokens are accepted. The start does not wait for them, since they may be away. */
@Injectable()
export class IssuersService implements OnApplicationBootstrap, OnApplicationShutdown {
  /** In the order of OAUTH_ISSUER. */
  readonly all: readonly Issuer[];

  constructor(
    configuration: Configuration,
    folder: LastGoodFolder,
    logger: ServiceLogger,
    metrics: Metrics,
  ) {
    const { OAUTH_ISSUER, OAUTH_AUDIENCE, OAUTH_JWKS_URI, OAUTH_ALLOW_HTTP } = configuration;
    this.all = OAUTH_ISSUER.map((name, index) => {
      const keySetAddress = OAUTH_JWKS_URI[index] || undefined; // empty for discovery
      const settings = { name, audiences: OAUTH_AUDIENCE, keySetAddress, OAUTH_ALLOW_HTTP };
      return new Issuer(settings, folder, logger);
    });
    this.addGauges(metrics);
  }

  get(name: unknown): Issuer | undefined {
    return this.all.find((issuer) => issuer.name === name);
  }

  /** Why no caller can be accepted now, or undefined. */
  get obstacle(): string | undefined {
    const canVerify = this.all.some(({ keySet }) => keySet !== undefined);
    return canVerify ? undefined : 'No signing keys of the issuer are available.';
  }

  onApplicationBootstrap(): void {
    for (const issuer of this.all) void issuer.start();
  }

  onApplicationShutdown(): void {
    for (const issuer of this.all) issuer.stop();
  }

  private addGauges(metrics: Metrics): void {
    metrics.addGauge({
      name: 'jwks_age_seconds',
      help: 'Since the keys were fetched',
      labelNames: ['issuer'],
      collect: (gauge) => {
        for (const { name, state, ageSeconds } of this.all)
          if (state.name !== 'waiting') gauge.set({ issuer: name }, ageSeconds);
      },
    });
    metrics.addGauge({
      name: 'jwks_keys',
      help: 'Keys in the key set',
      labelNames: ['issuer'],
      collect: (gauge) => {
        for (const { name, keySet } of this.all)
          gauge.set({ issuer: name }, keySet?.keys.length ?? 0);
      },
    });
  }
}
