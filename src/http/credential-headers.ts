import type { NextFunction, Request, Response } from 'express';
import { type Issue, Problem } from '../problems/problem.js';

const CREDENTIAL_HEADERS = ['Api-Key', 'Authorization'];

/**
 * Refuses a request that has a credential header more than once: a gateway may have judged another one than this
 * service would. Node.js joins the lines of a header with commas (`joinDuplicateHeaders`), as proxies may (RFC 9110
 * section 5.3), and no credential holds a comma.
 */
export function credentialHeaders({ headers }: Request, _response: Response, next: NextFunction): void {
  const repeated = CREDENTIAL_HEADERS.filter((name) => headers[name.toLowerCase()]?.includes(','));
  if (repeated.length === 0) {
    next();
    return;
  }
  const issues = repeated.map((field): Issue => {
    const description = `${field} was sent more than once, or holds a comma: send it once, without one.`;
    return { description, field, location: 'header' };
  });
  next(
    new Problem('malformed-request', {
      detail: 'A credential header was sent more than once, or holds a comma.',
      issues,
    }),
  );
}
