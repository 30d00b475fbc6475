import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { type Observable, lastValueFrom, of } from 'rxjs';
import { Configuration } from '../configuration/configuration.js';
import { Answer } from '../http/answer.js';
import type { ServiceRequest, ServiceResponse } from '../http/service-request.js';
import { Problem } from '../problems/problem.js';

const WINDOW_SECONDS = 60;

/** At most RATE_LIMIT_PER_MINUTE requests for each API key. A 304 does not count, so that revalidation is free. */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  private readonly limit: number;
  private readonly limiter: RateLimiterMemory;

  constructor({ RATE_LIMIT_PER_MINUTE }: Configuration) {
    this.limit = RATE_LIMIT_PER_MINUTE;
    this.limiter = new RateLimiterMemory({ points: this.limit, duration: WINDOW_SECONDS });
  }

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<ServiceRequest>();
    const { caller } = request;
    if (!caller) return next.handle();
    const consume = (): Promise<void> => this.consume(http.getResponse(), caller.keyId);
    const answer: unknown = await lastValueFrom(next.handle()).catch(async (error: unknown) => {
      await consume();
      throw error;
    });
    if (!(answer instanceof Answer && answer.tagIn(request.field('if-none-match'))))
      await consume();
    return of(answer);
  }

  private async consume(response: ServiceResponse, keyId: string): Promise<void> {
    try {
      const spent = await this.limiter.consume(keyId);
      response.fields = this.fields(spent).flat();
    } catch (spent) {
      if (!(spent && typeof spent === 'object' && 'msBeforeNext' in spent)) throw spent;
      const fields = this.fields(spent as RateLimiterRes);
      throw new Problem('too-many-requests', {
        detail: `The limit of ${this.limit} requests a minute for this key is used up.`,
        headers: [...fields.flat(), 'Retry-After', String(seconds(spent as RateLimiterRes))],
      });
    }
  }

  /** draft-ietf-httpapi-ratelimit-headers: the structured fields of its later versions, and the three fields of its earlier versions. */
  private fields(spent: RateLimiterRes): [string, string][] {
    const remaining = Math.max(0, spent.remainingPoints);
    return [
      ['RateLimit-Policy', `"key";q=${this.limit};w=${WINDOW_SECONDS}`],
      ['RateLimit', `"key";r=${remaining};t=${seconds(spent)}`],
      ['RateLimit-Limit', String(this.limit)],
      ['RateLimit-Remaining', String(remaining)],
      ['RateLimit-Reset', String(seconds(spent))],
    ];
  }
}

const seconds = ({ msBeforeNext }: RateLimiterRes): number => Math.ceil(msBeforeNext / 1000);
