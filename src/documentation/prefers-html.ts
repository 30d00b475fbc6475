import type { Request } from 'express';

/** Whether a person asks with a browser. A program that accepts anything gets a problem document. */
export const prefersHtml = (request: Request): boolean =>
  request.accepts(['application/problem+json', 'text/html']) === 'text/html';
