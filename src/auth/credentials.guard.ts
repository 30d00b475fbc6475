import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { AccessTokensService, findToken } from './access-tokens.service.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { Public } from './public.decorator.js';
import { RateLimiter } from './rate-limiter.js';
import { Refusals } from './refusals.js';

/**
 * Requires an API key and an access token for every route that is not marked `@Public()`. The key is checked first, so
 * that a caller without a valid key causes no signature check and no request to the issuer.
 */
@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly refusals: Refusals,
    private readonly rateLimiter: RateLimiter,
  ) {}

  /** @throws Problem 400, 401, 403, 429 or 503 if the caller may not pass */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.isPublic(context)) return true;
    const request = context.switchToHttp().getRequest<Request>();
    const response = context.switchToHttp().getResponse<Response>();
    const authorization = request.get('Authorization');

    const keyVerdict = this.apiKeys.verify(request.get('Api-Key'));
    if (keyVerdict.outcome !== 'accepted') {
      // `findToken` notices a missing token, so that one 401 can name both the key and the token
      throw this.refusals.problemForKey(request, keyVerdict, findToken(authorization));
    }
    // Set before the token is checked, so that log and metrics name the client even if the token is refused
    request.context.caller = keyVerdict.value;
    this.rateLimiter.admit(keyVerdict.value, response);

    const tokenVerdict = await this.accessTokens.verify(authorization);
    if (tokenVerdict.outcome !== 'accepted') throw this.refusals.problemForToken(request, tokenVerdict);
    request.context.tokenClient = tokenVerdict.value.client;
    return true;
  }

  private isPublic(context: ExecutionContext): boolean {
    return this.reflector.getAllAndOverride(Public, [context.getHandler(), context.getClass()]) ?? false;
  }
}
