import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { Problem } from '../problems/problem.js';
import { Replies } from './replies.js';
import type { ServiceResponse } from './service-request.js';

/** Answers every error with a problem document: those inside Nest, and those of the router and of the server. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly replies: Replies) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    this.answer(exception, host.switchToHttp().getResponse<ServiceResponse>());
  }

  /**
   * If the answer has already begun, closes the connection.
   * @param error undefined if no route matches
   */
  answer(error: unknown, response: ServiceResponse): void {
    if (response.headersSent) return void response.destroy();
    const problem = problemOf(error);
    // The stack is logged only for a fault of the service
    const cause = problem.slug === 'internal-error' ? error : undefined;
    this.replies.sendProblem(response, problem, cause);
  }
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
