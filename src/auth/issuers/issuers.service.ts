import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import { ServiceLogger } from '../../telemetry/service-logger.js';
import { Issuer } from './issuer.js';

/** The issuers whose tokens are accepted. The start does not wait for them, since they may be away. */
@Injectable()
export class IssuersService implements OnApplicationBootstrap, OnApplicationShutdown {
  /** The order is that of OAUTH_ISSUER. */
  readonly all: readonly Issuer[];

  constructor(configuration: Configuration, logger: ServiceLogger, metrics: Metrics) {
    const { OAUTH_ISSUER, OAUTH_JWKS_URI, OAUTH_ALLOW_HTTP } = configuration;
    this.all = OAUTH_ISSUER.map((name, index) => {
      const keySetAddress = OAUTH_JWKS_URI[index] || undefined; // an empty entry means discovery
      return new Issuer({ name, keySetAddress, OAUTH_ALLOW_HTTP }, logger);
    });
    this.addGauges(metrics);
  }

  get(name: unknown): Issuer | undefined {
    return this.all.find((issuer) => issuer.name === name);
  }

  /**
   * Why every token is refused now, or undefined. A token itself gets 401 where its issuer publishes no keys, else 503.
   */
  get unavailableReason(): string | undefined {
    if (this.all.some(({ keyCount }) => keyCount > 0)) return undefined;
    const isAnswered = this.all.some(({ keys }) => keys !== undefined);
    return isAnswered
      ? 'No key that the issuer publishes can verify a token.'
      : 'No signing keys of the issuer are available.';
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
      help: 'Seconds since the keys of an issuer were fetched',
      labelNames: ['issuer'],
      collect: (gauge) => {
        for (const { name, ageSeconds } of this.all) {
          if (ageSeconds !== Infinity) gauge.set({ issuer: name }, ageSeconds);
        }
      },
    });
    metrics.addGauge({
      name: 'jwks_keys',
      help: 'Keys of an issuer that can verify a token now',
      labelNames: ['issuer'],
      collect: (gauge) => {
        for (const { name, keyCount } of this.all) gauge.set({ issuer: name }, keyCount);
      },
    });
  }
}
