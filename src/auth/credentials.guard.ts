// Requires both credentials. The guard is global, so every route needs them unless it is marked as public. The key is checked first: without
// a valid key no signature is verified, nothing waits, and the issuer is not asked.
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { ServiceRequest } from '../http/service-request.js';
import { AccessTokensService } from './access-tokens/access-tokens.service.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { PUBLIC } from './public.decorator.js';
import { type Credential, Refusals } from './refusals.js';

@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly refusals: Refusals,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.reflector.get<boolean>(PUBLIC, context.getClass())) return true;
    const request = context.getArgByIndex<ServiceRequest>(0);
    const { 'api-key': apiKeys = [], authorization: tokens = [] } = request.headersDistinct;
    const repeated: Credential[] = [];
    if (apiKeys.length > 1) repeated.push('api_key');
    if (tokens.length > 1) repeated.push('access_token');
    if (repeated.length > 0) throw this.refusals.repeatedHeaders(request, repeated);
    const [apiKey] = apiKeys;
    const [authorization] = tokens;
    const key = this.apiKeys.verify(apiKey);
    if (key.kind !== 'valid')
      throw this.refusals.refusal(request, key, this.accessTokens.inspect(authorization));
    request.caller = key.holder;
    const token = await this.accessTokens.verify(authorization);
    if (token.kind !== 'valid') throw this.refusals.refusal(request, key, token);
    if (!token.holder.isInScope) throw this.refusals.insufficientScope(request);
    return true;
  }
}
