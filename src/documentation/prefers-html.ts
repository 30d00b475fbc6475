import type { Request } from 'express';

/** The longest Accept that is read, in characters. No browser sends more, and 16 KiB take up to 10 ms to parse. */
const MAX_ACCEPT_LENGTH = 1_000;

/**
 * Whether the caller prefers a page, as browsers do. A program that accepts anything gets a problem document. Whoever
 * asks answers by Accept, so caches learn it from Vary.
 */
export function prefersHtml(request: Request): boolean {
  request.res?.vary('Accept');
  const { accept = '' } = request.headers;
  if (accept.length > MAX_ACCEPT_LENGTH) return false;
  return request.accepts(['application/problem+json', 'text/html']) === 'text/html';
}
