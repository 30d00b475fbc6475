import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { type Observable, catchError, mergeMap } from 'rxjs';
import { Configuration } from '../configuration/configuration.js';
import { Answer } from '../http/answer.js';
import type { ServiceResponse } from '../http/service-request.js';
import { Problem } from '../problems/problem.js';

const WINDOW_SECONDS = 60;

/** At most RATE_LIMIT_PER_MINUTE requests for each API key, whatever their answers. A 304 does not count, so that revalidation is free. */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  private readonly limiter: RateLimiterMemory;

  constructor({ RATE_LIMIT_PER_MINUTE: points }: Configuration) {
    this.limiter = new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = context.getArgByIndex<ServiceResponse>(1);
    const { req: request } = response;
    if (!request.caller) return next.handle();
    return next.handle().pipe(
      catchError(async (error: unknown) => {
        await this.count(response);
        throw error;
      }),
      mergeMap(async (answer: unknown) => {
        const isKnown = answer instanceof Answer && answer.tagIn(request.field('if-none-match'));
        if (!isKnown) await this.count(response);
        return answer;
      }),
    );
  }

  /** Counts a request with a valid API key. Its answer gets the fields of draft-ietf-httpapi-ratelimit-headers. */
  async count(response: ServiceResponse): Promise<void> {
    const { points } = this.limiter;
    const { consumedPoints, remainingPoints, msBeforeNext } = await this.limiter
      .consume(response.req.caller?.keyId ?? '')
      .catch((exceeded: RateLimiterRes) => exceeded);
    const seconds = String(Math.ceil(msBeforeNext / 1000));
    response.req.fields = [
      'RateLimit-Policy',
      `"key";q=${points};w=${WINDOW_SECONDS}`,
      'RateLimit',
      `"key";r=${remainingPoints};t=${seconds}`,
    ];
    if (consumedPoints > points)
      throw new Problem('too-many-requests', {
        detail: `The limit of ${points} requests a minute for this key is used up.`,
        headers: ['Retry-After', seconds],
      });
  }
}
