import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { type Observable, mergeMap } from 'rxjs';
import { Configuration } from '../configuration/configuration.js';
import { Answer } from '../http/answer.js';
import { ProblemFilter } from '../http/problem.filter.js';
import type { ServiceResponse } from '../http/service-request.js';
import { Problem } from '../problems/problem.js';

const WINDOW_SECONDS = 60;

/** At most RATE_LIMIT_PER_MINUTE requests for each API key. */
@Injectable()
export class RateLimit {
  private readonly limit: number;
  private readonly limiter: RateLimiterMemory;

  constructor({ RATE_LIMIT_PER_MINUTE }: Configuration) {
    this.limit = RATE_LIMIT_PER_MINUTE;
    this.limiter = new RateLimiterMemory({ points: this.limit, duration: WINDOW_SECONDS });
  }

  /** @throws Problem too-many-requests */
  async consume(response: ServiceResponse, keyId: string): Promise<void> {
    try {
      const spent = await this.limiter.consume(keyId);
      for (const [name, value] of this.fields(spent)) response.setHeader(name, value);
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

/** Counts answers. A 304 does not count, so that revalidation is free. */
@Injectable()
export class RateLimitInterceptor implements NestInterceptor {
  constructor(private readonly rateLimit: RateLimit) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = context.switchToHttp().getResponse<ServiceResponse>();
    const { req: request } = response;
    const { caller } = request;
    if (!caller) return next.handle();
    return next.handle().pipe(
      mergeMap(async (answer: unknown) => {
        if (!(answer instanceof Answer && answer.tagIn(request.field('if-none-match'))))
          await this.rateLimit.consume(response, caller.keyId);
        return answer;
      }),
    );
  }
}

/** Counts refusals of requests with a valid key: of their token, their scope or their query. */
@Catch()
export class RateLimitFilter implements ExceptionFilter {
  constructor(
    private readonly rateLimit: RateLimit,
    private readonly problems: ProblemFilter,
  ) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<ServiceResponse>();
    const { caller } = response.req;
    const isCounted = exception instanceof Problem && exception.slug === 'too-many-requests';
    if (!caller || isCounted) return this.problems.answer(exception, response);
    this.rateLimit.consume(response, caller.keyId).then(
      () => this.problems.answer(exception, response),
      (limited: unknown) => this.problems.answer(limited, response),
    );
  }
}

const seconds = ({ msBeforeNext }: RateLimiterRes): number => Math.ceil(msBeforeNext / 1000);
