import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { CodesService } from '../codes/codes.service.js';
import { Configuration } from '../configuration/configuration.js';
import { DatabaseClock } from '../database/database-clock.js';
import { ChangeListener } from '../snapshots/change-listener.js';
import { LOG, type Log } from '../telemetry/log.js';
import { communicationCodes, registry } from '../telemetry/metrics.js';

/** Starts what runs beside the requests, and stops it again. Nothing here is waited for: the service starts without database and issuer. */
@Injectable()
export class LifecycleService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly listener: ChangeListener;

  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
    { DATABASE_URL }: Configuration,
    clock: DatabaseClock,
    @Inject(LOG) log: Log,
  ) {
    const followed = { codes: codes.followed, keys: apiKeys.followed };
    this.listener = new ChangeListener(
      DATABASE_URL,
      {
        reconnected: () => Object.values(followed).forEach((topic) => topic.invalidate()),
        announce: (topic, revision) => followed[topic].announce(revision),
      },
      clock,
      log,
    );
  }

  onApplicationBootstrap(): void {
    this.listener.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.codes.followed.stop();
    this.apiKeys.followed.stop();
    await this.listener.stop();
  }

  /** The metrics of the process in the text format of Prometheus. Ages are measured at this moment. */
  async metrics(): Promise<string> {
    this.codes.followed.measure();
    this.apiKeys.followed.measure();
    this.issuers.measure();
    communicationCodes.set(this.codes.count);
    return registry.metrics();
  }
}
