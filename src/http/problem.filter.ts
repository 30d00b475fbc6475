import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Problem } from '../problems/problem.js';
import type { ServiceRequest, ServiceResponse } from './service-request.js';
import { Replies } from './replies.js';

/** Everything that goes wrong inside Nest leaves as a problem document. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly replies: Replies) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendError(
      this.replies,
      http.getRequest<ServiceRequest>(),
      http.getResponse<ServiceResponse>(),
      exception,
    );
  }
}

/**
 * Answers with the problem that an error stands for. Where the answer had begun already, cuts the connection.
 * @param error undefined where no route took the request
 */
export function sendError(
  replies: Replies,
  request: ServiceRequest,
  response: ServiceResponse,
  error: unknown,
): void {
  if (response.headersSent) return void response.destroy();
  const problem = problemOf(error);
  // Only an error of ours is worth its stack in the log
  const cause = problem.slug === 'internal-error' ? error : undefined;
  replies.sendProblem(request, response, problem, cause);
}

const NOT_FOUND = new Problem('not-found', {
  detail: 'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
});
const BAD_PATH = new Problem('malformed-request', {
  detail: 'The percent-encoding of the path is broken.',
});

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error === undefined || (error instanceof HttpException && error.getStatus() === 404))
    return NOT_FOUND;
  if (error instanceof URIError && 'status' in error) return BAD_PATH; // the router's
  return new Problem('internal-error', {
    detail:
      'The server met an unexpected condition. It is in our log under the id of this occurrence.',
  });
}
