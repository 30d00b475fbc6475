import type { Request } from 'express';

/** The longest Accept that is read, in characters. No browser sends more, and the time grows with its square. */
const MAX_ACCEPT_LENGTH = 1_000;

/** Whether the caller is a browser. A program that accepts anything gets a problem document. */
export function prefersHtml(request: Request): boolean {
  const { accept = '' } = request.headers;
  if (accept.length > MAX_ACCEPT_LENGTH) return false;
  return request.accepts(['application/problem+json', 'text/html']) === 'text/html';
}
