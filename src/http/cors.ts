import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';

/** The methods of every path. */
export const METHODS = 'GET, HEAD, OPTIONS';
const VARY = ['Vary', 'Origin'];
const EXPOSED = [
  'Access-Control-Expose-Headers',
  'ETag, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate',
];
const PREFLIGHT = [
  'Access-Control-Allow-Methods',
  METHODS,
  'Access-Control-Allow-Headers',
  'Api-Key, Authorization, If-None-Match, X-Request-Id, traceparent',
  'Access-Control-Max-Age',
  '3600',
];

/** The header fields of the Fetch standard (section 3.3, the CORS protocol) that every reply carries. The package `cors` would set them only on replies to requests that reach Express. */
@Injectable()
export class Cors {
  /** Origins whose pages may read the answers; an empty list turns CORS off. */
  private readonly origins: readonly string[];

  constructor({ CORS_ORIGINS }: Configuration) {
    this.origins = CORS_ORIGINS;
  }

  fieldsFor(request: IncomingMessage): readonly string[] {
    if (this.origins.length === 0) return [];
    const { origin } = request.headers;
    if (origin === undefined || !this.origins.includes(origin)) return VARY;
    return [
      ...VARY,
      'Access-Control-Allow-Origin',
      origin,
      ...(request.method === 'OPTIONS' ? PREFLIGHT : EXPOSED),
    ];
  }
}
