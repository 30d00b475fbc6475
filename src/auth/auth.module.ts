import { Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { DatabaseModule } from '../database/database.module.js';
import { SnapshotsModule } from '../snapshots/snapshots.module.js';
import { AccessTokensService } from './access-tokens/access-tokens.service.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { KeyExpiryMetric } from './api-keys/key-expiry.metric.js';
import { KeyUse } from './api-keys/key-use.js';
import { CredentialsGuard } from './credentials.guard.js';
import { IssuersService } from './issuers/issuers.service.js';
import { RateLimiter } from './rate-limiter.js';
import { Refusals } from './refusals.js';

/**
 * Decides who may call. `APP_GUARD` puts CredentialsGuard before every route of the application: without that line all
 * routes are open. The module is global because health, metrics and the documentation ask for the keys and the issuers.
 */
@Global()
@Module({
  imports: [DatabaseModule, SnapshotsModule],
  providers: [
    ApiKeysService,
    KeyExpiryMetric,
    KeyUse,
    AccessTokensService,
    IssuersService,
    RateLimiter,
    Refusals,
    { provide: APP_GUARD, useClass: CredentialsGuard },
  ],
  exports: [ApiKeysService, IssuersService],
})
export class AuthModule {}
