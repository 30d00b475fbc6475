// Both headers stand between a stranger and the data. The guard is global and fails closed: a route that says nothing about credentials
// refuses everyone who has none.
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import type { Caller, ServiceRequest } from '../http/service-request.js';
import type { Problem } from '../problems/problem.js';
import { AccessTokensService } from './access-tokens/access-tokens.service.js';
import type { AccessToken } from './access-tokens/access-token.js';
import { ApiKeysService } from './api-keys/api-keys.service.js';
import { isPublic } from './public.decorator.js';
import { cannotVerify, insufficientScope, repeatedHeaders, unauthorized } from './refusals.js';
import type { Verdict } from './verdict.js';

@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly accessTokens: AccessTokensService,
    private readonly configuration: Configuration,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (isPublic(context)) return true;
    const request = context.getArgByIndex<ServiceRequest>(0);
    const { apiKey, apiKeys, authorization, authorizations } = request.head;
    if (apiKeys > 1 || authorizations > 1) return rejected(repeatedHeaders(request.head));
    const key = this.apiKeys.verify(apiKey);
    const token = this.accessTokens.verify(authorization);
    return token instanceof Promise
      ? token.then((verdict) => this.decide(request, key, verdict))
      : this.decide(request, key, token);
  }

  private decide(
    request: ServiceRequest,
    key: Verdict<Caller>,
    token: Verdict<AccessToken>,
  ): true | Promise<never> {
    if (key.kind === 'valid' && token.kind === 'valid') {
      request.caller = key.holder;
      return (
        token.holder.isInScope ||
        rejected(insufficientScope(this.configuration.OAUTH_REQUIRED_SCOPE))
      );
    }
    // What is missing can be said whatever else is not at hand; a verdict that cannot be reached is never a refusal.
    if (key.kind !== 'missing' && token.kind !== 'missing') {
      if (key.kind === 'undecided') return rejected(cannotVerify(key.detail));
      if (token.kind === 'undecided') return rejected(cannotVerify(token.detail));
    }
    return rejected(unauthorized(key, token));
  }
}

const soon = Promise.resolve();

/**
 * To throw through our frames and those of Nest costs as much as half an answer. Rejected in a moment rather than at once, so that Nest listens
 * by then and Node does not take it for a rejection that nobody handles.
 */
const rejected = (problem: Problem): Promise<never> =>
  new Promise((_, reject) => void soon.then(() => reject(problem)));
