import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Problem, malformed } from '../problems/problem.js';
import type { ProblemSlug } from '../problems/problem-types.js';
import { Replies } from './replies.js';
import type { ServiceResponse } from './service-request.js';

const NOT_FOUND = new Problem('not-found', {
  detail: 'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
});
const BAD_PATH = malformed('The percent-encoding of the path is broken.');
const INTERNAL_ERROR = new Problem('internal-error', {
  detail: 'An unexpected condition was met. The log has it under the id of this occurrence.',
});
/** Our other types say more than their statuses do. */
const SLUGS: Record<number, ProblemSlug> = { 400: 'malformed-request', 404: 'not-found' };

@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly replies: Replies) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    this.answer(exception, host.getArgByIndex<ServiceResponse>(1));
  }

  answer(error: unknown, response: ServiceResponse): void {
    const problem = problemOf(error);
    this.replies.sendProblem(response, problem ?? INTERNAL_ERROR, problem ? undefined : error);
  }
}

/** Undefined for a fault of the service. */
function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (!error) return NOT_FOUND;
  // Its message shows what was sent, which may be a credential
  if (error instanceof URIError && 'status' in error) return BAD_PATH;
  if (!(error instanceof HttpException)) return undefined;
  const status = error.getStatus();
  if (status < 400 || status >= 500) return undefined;
  const { message = error.message } = error.getResponse() as { message?: string | string[] };
  const slug = SLUGS[status] ?? 'about:blank';
  return new Problem(slug, { detail: [message].flat().join('. '), status });
}
