import type { ServiceRequest } from './service-request.js';

const VARY = ['Vary', 'Origin'];
const EXPOSED = [
  'Access-Control-Expose-Headers',
  'ETag, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate',
];
const PREFLIGHT = [
  'Access-Control-Allow-Headers',
  'Api-Key, Authorization, Content-Type, If-None-Match, X-Request-Id, traceparent',
  ...['Access-Control-Max-Age', '3600'],
];

/** The header fields of the CORS protocol that every reply carries. The package `cors` would set them only on replies of Express. */
export function corsFields(
  origins: readonly string[],
  { method, allow, headers: { origin } }: ServiceRequest,
): readonly string[] {
  if (origins.length === 0) return [];
  if (origin === undefined || !origins.includes(origin)) return VARY;
  const rest =
    method === 'OPTIONS' ? ['Access-Control-Allow-Methods', allow, ...PREFLIGHT] : EXPOSED;
  return [...VARY, 'Access-Control-Allow-Origin', origin, ...rest];
}
