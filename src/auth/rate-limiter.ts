import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Configuration } from '../configuration/configuration.js';
import type { Caller } from '../http/request-context.js';
import { Problem } from '../problems/problem.js';
import { ConditionalCharge, type CountedRequest } from './conditional-charge.js';

const PERIOD_SECONDS = 60;

/** The requests of one API key that were counted within a minute. */
interface CountedPeriod {
  /** By the monotonic clock. */
  readonly endsAtMs: number;
  requestCount: number;
}

/**
 * Limits the requests of each API key to RATE_LIMIT_PER_MINUTE, in periods of a minute, in this process. The packages
 * for this count asynchronously, which costs a third of a request and more (docs/decisions.md).
 *
 * The guard counts each request as it arrives, so requests at the same time never exceed the limit. A request that may
 * get a 304 is counted when its answer is known, and a 304 is never counted. Such a request is carried out before it is
 * refused, so the limit does not protect a GET that costs much.
 *
 * With several replicas a key has the limit at each of them. A period begins with the first request of a key, so up to
 * twice the limit may arrive around its end. There is one entry for each key that was used, and none is removed: keys
 * are few.
 */
@Injectable()
export class RateLimiter {
  private readonly periods = new Map<string, CountedPeriod>();

  constructor(private readonly configuration: Configuration) {}

  /**
   * A request that may get a 304 passes, and is judged when its answer is known.
   * @throws Problem 429 if the limit of the caller is used up
   */
  admit(caller: Caller, request: Request, response: Response): void {
    if (this.configuration.RATE_LIMIT_PER_MINUTE === 0) return; // off
    if (mayBeNotModified(request)) {
      this.chargeWhenAnswered(caller, request, response);
      return;
    }
    const { refusal } = this.countRequest(caller, response);
    if (refusal) throw refusal;
  }

  private chargeWhenAnswered(caller: Caller, request: Request, response: Response): void {
    const charge = new ConditionalCharge(() => this.countRequest(caller, response));
    request.context.conditionalCharge = charge;
    response.once('close', () => charge.settle(response.statusCode));
  }

  /** Counts a request, and tells the caller the state of its limit (draft-ietf-httpapi-ratelimit-headers). */
  private countRequest(caller: Caller, response: Response): CountedRequest {
    const { RATE_LIMIT_PER_MINUTE: limit } = this.configuration;
    const period = this.periodOf(caller);
    period.requestCount += 1;
    const left = Math.max(0, limit - period.requestCount);
    const secondsLeft = Math.max(1, Math.ceil((period.endsAtMs - performance.now()) / 1000));
    if (!response.headersSent) {
      response.setHeader('RateLimit-Policy', `"key";q=${limit};w=${PERIOD_SECONDS}`);
      response.setHeader('RateLimit', `"key";r=${left};t=${secondsLeft}`);
    }
    const isWithinLimit = period.requestCount <= limit;
    const refusal = isWithinLimit ? undefined : limitUsedUp(limit, secondsLeft);
    const takeBack = (): void => {
      period.requestCount -= 1;
    };
    return { refusal, takeBack };
  }

  /** The present period of the caller's key. */
  private periodOf({ keyId }: Caller): CountedPeriod {
    const nowMs = performance.now();
    const known = this.periods.get(keyId);
    if (known && known.endsAtMs > nowMs) return known;
    const period = { endsAtMs: nowMs + PERIOD_SECONDS * 1000, requestCount: 0 };
    this.periods.set(keyId, period);
    return period;
  }
}

/** Retry-After is exact: the callers of a key share its limit, so to spread their return would help nobody. */
function limitUsedUp(limit: number, secondsLeft: number): Problem {
  return new Problem('too-many-requests', {
    detail: `The limit of ${limit} requests a minute for this key is used up.`,
    headers: { 'Retry-After': String(secondsLeft) },
  });
}

/** Whether the answer may be a 304: only GET and HEAD with If-None-Match get one (RFC 9110 section 13.1.2). */
function mayBeNotModified({ method, headers }: Request): boolean {
  return ['GET', 'HEAD'].includes(method) && headers['if-none-match'] !== undefined;
}
