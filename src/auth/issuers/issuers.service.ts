import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { LOG, type Log } from '../../telemetry/log.js';
import { Metrics, measureOnScrape } from '../../telemetry/metrics.js';
import { Issuer, NO_KEYS } from './issuer.js';

/** The issuers whose access tokens are accepted. */
@Injectable()
export class IssuersService implements OnApplicationBootstrap, OnApplicationShutdown {
  /** In the order of OAUTH_ISSUER. */
  readonly all: readonly Issuer[];

  constructor(
    configuration: Configuration,
    @Inject(LOG) log: Log,
    { jwksAge, jwksKeys, secondsUntilRefusal }: Metrics,
  ) {
    this.all = configuration.OAUTH_ISSUER.map((name) => new Issuer(name, configuration, log));
    measureOnScrape(jwksAge, () => {
      for (const { name, keySet, age } of this.all) if (keySet) jwksAge.set({ issuer: name }, age);
    });
    measureOnScrape(jwksKeys, () => {
      for (const { name, keys } of this.all)
        jwksKeys.set({ issuer: name }, keys?.jwks.keys.length ?? 0);
    });
    measureOnScrape(secondsUntilRefusal, () => {
      const left = Math.min(...this.all.map(({ secondsLeft }) => secondsLeft));
      secondsUntilRefusal.set({ what: 'signing-keys' }, left);
    });
  }

  /** `name` is the `iss` of a token that is not verified: it can have any type. */
  get(name: unknown): Issuer | undefined {
    return this.all.find((issuer) => issuer.name === name);
  }

  /** Why no caller can be accepted now, or undefined if at least one issuer has signing keys. */
  get obstacle(): string | undefined {
    return this.all.some(({ keys }) => keys !== undefined) ? undefined : NO_KEYS;
  }

  onApplicationBootstrap(): void {
    for (const issuer of this.all) void issuer.refresh();
  }

  onApplicationShutdown(): void {
    for (const issuer of this.all) issuer.stop();
  }
}
