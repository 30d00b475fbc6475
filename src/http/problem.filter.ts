import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Problem } from '../problems/problem.js';
import type { ServiceRequest, ServiceResponse } from './service-request.js';
import { Replies } from './replies.js';

/** Everything that goes wrong inside Nest and Express leaves as a problem document. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly replies: Replies) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<ServiceResponse>();
    const problem = problemOf(exception);
    if (response.headersSent) response.destroy();
    else
      this.replies.problem(
        http.getRequest<ServiceRequest>(),
        response,
        problem,
        problem === exception ? undefined : causeOf(problem, exception),
      );
  }
}

const NOT_FOUND = new Problem('not-found', {
  detail: 'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
});

function problemOf(exception: unknown): Problem {
  if (exception instanceof Problem) return exception;
  const status = exception instanceof HttpException ? exception.getStatus() : 500;
  if (status === 404) return NOT_FOUND;
  if (status < 500)
    return new Problem('malformed-request', { detail: 'The request cannot be processed.' });
  return new Problem('internal-error', {
    detail:
      'The server met an unexpected condition. It is in our log under the id of this occurrence.',
  });
}

/** Only an error of ours is worth its stack in the log. */
const causeOf = ({ slug }: Problem, exception: unknown): unknown =>
  slug === 'internal-error' ? exception : undefined;
