import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import { ServiceLogger } from '../../telemetry/service-logger.js';
import { Issuer } from './issuer.js';

/** The issuers whose tokens are accepted. The service starts even if none of them can be reached. */
@Injectable()
export class IssuersService implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly all: readonly Issuer[];

  constructor(configuration: Configuration, logger: ServiceLogger, metrics: Metrics) {
    const { OAUTH_ISSUER, OAUTH_JWKS_URI, OAUTH_ALLOW_HTTP } = configuration;
    this.all = OAUTH_ISSUER.map((name, index) => {
      const keySetAddress = OAUTH_JWKS_URI[index] || undefined; // if the entry is empty, the address is in the metadata
      return new Issuer({ name, keySetAddress, OAUTH_ALLOW_HTTP }, logger);
    });
    this.addGauges(metrics);
  }

  get(name: unknown): Issuer | undefined {
    return this.all.find((issuer) => issuer.name === name);
  }

  /** A sentence for each issuer, if no token can be accepted now; undefined if at least one issuer has usable keys. */
  get unavailableReason(): string | undefined {
    if (this.all.some(({ keyCount }) => keyCount > 0)) return undefined;
    return this.all.map(explainUnavailability).join(' ');
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
      help: 'Seconds since the keys of an issuer were last fetched; there is no series before the first fetch',
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

function explainUnavailability({ name, keys, ageSeconds }: Issuer): string {
  if (keys) return `No key that ${name} publishes can verify a token.`;
  if (ageSeconds === Infinity) return `The signing keys of ${name} were not fetched yet.`;
  return `The signing keys of ${name} are too old.`;
}
