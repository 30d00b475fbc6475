import { Injectable } from '@nestjs/common';
import { ApiKeysService } from '../auth/api-keys/api-keys.service.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { CodesService } from '../codes/codes.service.js';

/** Whether the process can answer callers. The database need not be there at the moment: its outage must not pull all replicas out at once. */
@Injectable()
export class HealthService {
  private stopping = false;

  constructor(
    private readonly codes: CodesService,
    private readonly apiKeys: ApiKeysService,
    private readonly issuers: IssuersService,
  ) {}

  stop(): void {
    this.stopping = true;
  }

  /** What is still missing, in words; none where the service is ready. */
  get obstacles(): string[] {
    return [
      ...(this.stopping ? ['The service is shutting down.'] : []),
      ...(this.codes.followed.current
        ? []
        : ['The codes have not been read from the database yet.']),
      ...(this.apiKeys.followed.current
        ? []
        : ['The API keys have not been read from the database yet.']),
      ...(this.issuers.anyKeys ? [] : ['The signing keys of the issuer are not at hand.']),
    ];
  }
}
