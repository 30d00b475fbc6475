import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Configuration } from '../configuration/configuration.js';
import type { Caller } from '../http/request-context.js';
import { Problem } from '../problems/problem.js';

const WINDOW_SECONDS = 60;

interface Window {
  readonly endsAtMs: number;
  count: number;
}

/**
 * A fixed window for each API key in this process. The packages for this take as many lines to set up, and count
 * asynchronously (docs/decisions.md).
 */
@Injectable()
export class RateLimiter {
  private readonly windows = new Map<string, Window>();

  constructor(private readonly configuration: Configuration) {}

  /**
   * A 304 costs nothing: it is given back, and sent also where the limit is used up. So a request that may get one is
   * not refused here: its context keeps the problem for whoever makes the answer.
   * @throws Problem 429 if the limit of the caller is used up
   */
  countOrThrow({ keyId }: Caller, request: Request, response: Response): void {
    const { RATE_LIMIT_PER_MINUTE: limit } = this.configuration;
    if (limit === 0) return; // off
    const nowMs = performance.now();
    const window = this.windowOf(keyId, nowMs);
    window.count += 1;
    const left = Math.max(0, limit - window.count);
    const seconds = Math.ceil((window.endsAtMs - nowMs) / 1000);
    // draft-ietf-httpapi-ratelimit-headers
    response.setHeader('RateLimit-Policy', `"key";q=${limit};w=${WINDOW_SECONDS}`);
    response.setHeader('RateLimit', `"key";r=${left};t=${seconds}`);
    response.once('close', () => {
      if (response.statusCode === 304) window.count -= 1;
    });
    if (window.count <= limit) return;
    const problem = new Problem('too-many-requests', {
      detail: `The limit of ${limit} requests a minute for this key is used up.`,
      headers: { 'Retry-After': String(seconds) },
    });
    if (!mayBeNotModified(request)) throw problem;
    request.context.rateLimitProblem = problem;
  }

  private windowOf(keyId: string, nowMs: number): Window {
    const known = this.windows.get(keyId);
    if (known && known.endsAtMs > nowMs) return known;
    const window = { endsAtMs: nowMs + WINDOW_SECONDS * 1000, count: 0 };
    this.windows.set(keyId, window);
    return window;
  }
}

/** Only these methods have conditional answers without a body (RFC 9110 section 13.1.2). */
function mayBeNotModified({ method, headers }: Request): boolean {
  return ['GET', 'HEAD'].includes(method) && headers['if-none-match'] !== undefined;
}
