import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Problem } from '../problems/problem.js';
import type { ProblemSlug } from '../problems/problem-types.js';
import { Replies } from './replies.js';
import type { ServiceResponse } from './service-request.js';

const NOT_FOUND = new Problem('not-found', {
  detail: 'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
});
const BAD_PATH = new Problem('malformed-request', {
  detail: 'The percent-encoding of the path is broken.',
});
const BAD_JSON = new Problem('malformed-request', { detail: 'The body is not valid JSON.' });
const INTERNAL_ERROR = new Problem('internal-error', {
  detail: 'An unexpected condition was met. The log has it under the id of this occurrence.',
});
/** The types that fit each error of a status. Those of 401 and 403 say more than such a status. */
const TYPES: Readonly<Record<number, ProblemSlug>> = {
  400: 'malformed-request',
  404: 'not-found',
  405: 'method-not-allowed',
  408: 'request-timeout',
  414: 'uri-too-long',
  429: 'too-many-requests',
};

/** Answers every error with a problem document: those inside Nest, and those of the router. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly replies: Replies) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    this.answer(exception, host.switchToHttp().getResponse<ServiceResponse>());
  }

  answer(error: unknown, response: ServiceResponse): void {
    const problem = problemOf(error);
    if (problem) this.replies.sendProblem(response, problem);
    else this.replies.sendProblem(response, INTERNAL_ERROR, error);
  }
}

/** Undefined for a fault of the service. */
function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!error) return NOT_FOUND;
  // Their messages show what was sent, which may be a credential
  if (error instanceof URIError && 'status' in error) return BAD_PATH;
  if (error instanceof SyntaxError && 'body' in error) return BAD_JSON;
  if (error instanceof HttpException) {
    const status = error.getStatus();
    const { message = error.message } = error.getResponse() as { message?: string | string[] };
    const detail = [message].flat().join('. ');
    if (status >= 400 && status < 500)
      return new Problem(TYPES[status] ?? 'about:blank', { detail, status });
  }
  return undefined;
}
