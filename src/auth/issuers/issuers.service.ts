import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { LOG, type Log } from '../../telemetry/log.js';
import { Metrics, measureOnScrape } from '../../telemetry/metrics.js';
import { Issuer } from './issuer.js';

/** What callers are told while an issuer has no keys. */
export const NO_KEYS = 'No signing keys of the issuer are available.';

/** The issuers whose access tokens are accepted. */
@Injectable()
export class IssuersService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly issuers: ReadonlyMap<string, Issuer>;

  constructor(configuration: Configuration, @Inject(LOG) log: Log, metrics: Metrics) {
    const { jwksAge, jwksKeys, secondsUntilRefusal } = metrics;
    this.issuers = new Map(
      configuration.OAUTH_ISSUER.map((name) => [name, new Issuer(name, configuration, log)]),
    );
    measureOnScrape(jwksAge, () => {
      for (const { name, age } of this.issuers.values())
        if (age !== undefined) jwksAge.set({ issuer: name }, age);
    });
    measureOnScrape(jwksKeys, () => {
      for (const { name, keys } of this.issuers.values())
        jwksKeys.set({ issuer: name }, keys?.thumbprints.size ?? 0);
    });
    measureOnScrape(secondsUntilRefusal, () => {
      const left = Math.min(...this.all.map(({ secondsLeft }) => secondsLeft));
      secondsUntilRefusal.set({ what: 'signing-keys' }, left);
    });
  }

  /** @param name the `iss` of a token, not verified: it can have any type */
  get(name: unknown): Issuer | undefined {
    return this.issuers.get(name as string);
  }

  /** The first issuer in OAUTH_ISSUER: the documentation page signs in there. */
  get first(): Issuer {
    const [first] = this.issuers.values();
    if (!first) throw new Error('the configuration names no issuer');
    return first;
  }

  get all(): Issuer[] {
    return [...this.issuers.values()];
  }

  /** Why no caller can be accepted now, or undefined if at least one issuer has signing keys. */
  get obstacle(): string | undefined {
    return this.all.some(({ keys }) => keys !== undefined) ? undefined : NO_KEYS;
  }

  onApplicationBootstrap(): void {
    for (const issuer of this.issuers.values()) issuer.start();
  }

  onApplicationShutdown(): void {
    for (const issuer of this.issuers.values()) issuer.stop();
  }
}
