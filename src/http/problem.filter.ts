import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Problem, malformed } from '../problems/problem.js';
import { type ProblemSlug, problemTypes } from '../problems/problem-types.js';
import { Replies } from './replies.js';
import type { ServiceResponse } from './service-request.js';

const NOT_FOUND = new Problem('not-found', {
  detail: 'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
});
const BAD_PATH = malformed('The percent-encoding of the path is broken.');
const BAD_JSON = malformed('The body is not valid JSON.');
const INTERNAL_ERROR = new Problem('internal-error', {
  detail: 'An unexpected condition was met. The log has it under the id of this occurrence.',
});
const SLUGS = Object.keys(problemTypes) as ProblemSlug[];
/** The types of these statuses say more than the status does. */
const PARTICULAR = [401, 403];

/** Answers every error with a problem document: those inside Nest, and those of the router. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly replies: Replies) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    this.answer(exception, host.switchToHttp().getResponse<ServiceResponse>());
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
  // Their messages show what was sent, which may be a credential
  if (error instanceof URIError && 'status' in error) return BAD_PATH;
  if (error instanceof SyntaxError && 'body' in error) return BAD_JSON;
  const status = error instanceof HttpException ? error.getStatus() : 500;
  if (!(error instanceof HttpException) || status < 400 || status >= 500) return undefined;
  const { message = error.message } = error.getResponse() as { message?: string | string[] };
  const slug = SLUGS.find((one) => problemTypes[one].status === status);
  const fits = slug && !PARTICULAR.includes(status);
  return new Problem(fits ? slug : 'about:blank', { detail: [message].flat().join('. '), status });
}
