import type { IncomingMessage } from 'node:http';

export const METHODS = 'GET, HEAD, OPTIONS';
const VARY = ['Vary', 'Origin'];
const EXPOSED = [
  'Access-Control-Expose-Headers',
  'ETag, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate',
];
const PREFLIGHT = [
  ...['Access-Control-Allow-Methods', METHODS],
  'Access-Control-Allow-Headers',
  'Api-Key, Authorization, If-None-Match, X-Request-Id, traceparent',
  ...['Access-Control-Max-Age', '3600'],
];

/** The header fields of the CORS protocol that every reply carries. The package `cors` would set them only on replies of Express. */
export function corsFields(
  origins: readonly string[],
  { method, headers: { origin } }: IncomingMessage,
): readonly string[] {
  if (origins.length === 0) return [];
  if (origin === undefined || !origins.includes(origin)) return VARY;
  const rest = method === 'OPTIONS' ? PREFLIGHT : EXPOSED;
  return [...VARY, 'Access-Control-Allow-Origin', origin, ...rest];
}
