import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Problem } from '../problems/problem.js';
import type { ServiceRequest, ServiceResponse } from './service-request.js';
import { Replies } from './replies.js';

/** Answers every error inside Nest with a problem document. */
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
 * Answers with the problem for an error. If the answer has already begun, closes the connection.
 * @param error undefined if no route matches
 */
export function sendError(
  replies: Replies,
  request: ServiceRequest,
  response: ServiceResponse,
  error: unknown,
): void {
  if (response.headersSent) return void response.destroy();
  const problem = problemOf(error);
  // The stack is logged only for a fault of the service
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
  if (error instanceof URIError && 'status' in error) return BAD_PATH; // thrown by the router
  return new Problem('internal-error', {
    detail:
      'The server met an unexpected condition. It is in our log under the id of this occurrence.',
  });
}
