import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Configuration } from '../configuration/configuration.js';
import type { Caller } from '../http/request-context.js';
import { Problem } from '../problems/problem.js';
import { ConditionalCharge } from './conditional-charge.js';

const PERIOD_SECONDS = 60;

/** The requests of one API key that were counted within a minute. */
interface CountedPeriod {
  /** By the monotonic clock. */
  readonly endsAtMs: number;
  count: number;
}

/**
 * Limits the requests of each API key to RATE_LIMIT_PER_MINUTE, in periods of a minute, in this process. The packages
 * for this take as many lines to set up, and count asynchronously (docs/decisions.md).
 *
 * The guard counts each request as it arrives, so requests at the same time never exceed the limit. A request that may
 * get a 304 is counted when its answer is known, and a 304 is never counted.
 */
@Injectable()
export class RateLimiter {
  private readonly periods = new Map<string, CountedPeriod>();

  constructor(private readonly configuration: Configuration) {}

  /** @throws Problem 429 if the limit of the caller is used up and the answer cannot be a 304 */
  admit(caller: Caller, request: Request, response: Response): void {
    if (this.configuration.RATE_LIMIT_PER_MINUTE === 0) return; // off
    if (mayBeNotModified(request)) {
      this.chargeWhenAnswered(caller, request, response);
      return;
    }
    const period = this.periodOf(caller);
    const problem = this.count(period, response);
    if (problem) throw problem;
  }

  private chargeWhenAnswered(caller: Caller, request: Request, response: Response): void {
    const period = this.periodOf(caller);
    const charge = new ConditionalCharge({
      add: () => this.count(period, response),
      takeBack: () => {
        period.count -= 1;
      },
    });
    request.context.conditionalCharge = charge;
    response.once('close', () => charge.settle(response.statusCode));
  }

  /** Counts a request, and tells the caller the state of its limit (draft-ietf-httpapi-ratelimit-headers). */
  private count(period: CountedPeriod, response: Response): Problem | undefined {
    const { RATE_LIMIT_PER_MINUTE: limit } = this.configuration;
    period.count += 1;
    const left = Math.max(0, limit - period.count);
    const seconds = Math.max(0, Math.ceil((period.endsAtMs - performance.now()) / 1000));
    if (!response.headersSent) {
      response.setHeader('RateLimit-Policy', `"key";q=${limit};w=${PERIOD_SECONDS}`);
      response.setHeader('RateLimit', `"key";r=${left};t=${seconds}`);
    }
    if (period.count <= limit) return undefined;
    return new Problem('too-many-requests', {
      detail: `The limit of ${limit} requests a minute for this key is used up.`,
      headers: { 'Retry-After': String(seconds) },
    });
  }

  /** The present period of the caller's key. */
  private periodOf({ keyId }: Caller): CountedPeriod {
    const nowMs = performance.now();
    const known = this.periods.get(keyId);
    if (known && known.endsAtMs > nowMs) return known;
    const period = { endsAtMs: nowMs + PERIOD_SECONDS * 1000, count: 0 };
    this.periods.set(keyId, period);
    return period;
  }
}

/** Whether the answer may be a 304: only GET and HEAD with If-None-Match get one (RFC 9110 section 13.1.2). */
function mayBeNotModified({ method, headers }: Request): boolean {
  return ['GET', 'HEAD'].includes(method) && headers['if-none-match'] !== undefined;
}
