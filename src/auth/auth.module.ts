import { Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import { AccessTokensService } from './access-tokens/access-tokens.service.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { CredentialsGuard } from './credentials.guard.js';
import { JwksService } from './issuers/jwks.service.js';
import { RateLimitInterceptor } from './rate-limit.interceptor.js';

@Module({})
export class AuthModule {
  /** The interceptor is there only where a limit is set: without it a request costs less. */
  static for(configuration: Configuration) {
    const rateLimit =
      configuration.RATE_LIMIT_PER_MINUTE > 0
        ? [{ provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor }]
        : [];
    return {
      module: AuthModule,
      providers: [
        ApiKeysService,
        AccessTokensService,
        JwksService,
        { provide: APP_GUARD, useClass: CredentialsGuard },
        ...rateLimit,
      ],
      exports: [ApiKeysService, JwksService],
    };
  }
}
