// Requires both credentials. The guard is global, so every route needs them unless it is marked as public. The key is checked first: without
// a valid key no signature is verified, nothing waits, and the issuer is not asked.
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import type { Caller, ServiceRequest } from '../http/service-request.js';
import type { Problem } from '../problems/problem.js';
import { AccessTokensService } from './access-tokens/access-tokens.service.js';
import type { AccessToken } from './access-tokens/access-token.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { PUBLIC } from './public.decorator.js';
import { API_KEY, Refusals, TOKEN } from './refusals.js';
import type { Verdict } from './verdict.js';

@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly refusals: Refusals,
    private readonly configuration: Configuration,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.reflector.get<boolean>(PUBLIC, context.getClass())) return true;
    const request = context.getArgByIndex<ServiceRequest>(0);
    const { 'api-key': apiKeys = [], authorization: tokens = [] } = request.headersDistinct;
    const [apiKey] = apiKeys;
    const [authorization] = tokens;
    if (apiKeys.length > 1 || tokens.length > 1)
      throw this.refusals.repeatedHeaders([
        ...(apiKeys.length > 1 ? [API_KEY] : []),
        ...(tokens.length > 1 ? [TOKEN] : []),
      ]);
    const key = this.apiKeys.verify(apiKey);
    if (key.kind !== 'valid') throw this.refusalOf(key, this.accessTokens.inspect(authorization));
    request.caller = key.holder;
    const token = await this.accessTokens.verify(authorization, key.holder.keyId);
    if (token.kind !== 'valid') throw this.refusalOf(key, token);
    if (!token.holder.isInScope)
      throw this.refusals.insufficientScope(this.configuration.OAUTH_REQUIRED_SCOPE);
    return true;
  }

  private refusalOf(key: Verdict<Caller>, token: Verdict<AccessToken>): Problem {
    // A missing credential is reported in any case. If a credential cannot be checked, the answer is 503 and never a refusal.
    if (key.kind !== 'missing' && token.kind !== 'missing') {
      if (key.kind === 'undecided') return this.refusals.cannotVerify(key.detail);
      if (token.kind === 'undecided') return this.refusals.cannotVerify(token.detail);
    }
    return this.refusals.unauthorized(key, token);
  }
}
