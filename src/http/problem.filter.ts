import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { Problem } from '../problems/problem.js';
import { Replies } from './replies.js';
import type { ServiceResponse } from './service-request.js';

const NOT_FOUND = new Problem('not-found', {
  detail: 'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
});
const BAD_PATH = new Problem('malformed-request', {
  detail: 'The percent-encoding of the path is broken.',
});
const INTERNAL_ERROR = new Problem('internal-error', {
  detail: 'An unexpected condition was met. The log has it under the id of this occurrence.',
});

/** Answers every error with a problem document: those inside Nest, and those of the router. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly replies: Replies) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    this.answer(exception, host.switchToHttp().getResponse<ServiceResponse>());
  }

  answer(error: unknown, response: ServiceResponse): void {
    if (error instanceof Problem) return this.replies.sendProblem(response, error);
    if (!error) return this.replies.sendProblem(response, NOT_FOUND);
    if (error instanceof URIError && 'status' in error)
      return this.replies.sendProblem(response, BAD_PATH);
    this.replies.sendProblem(response, INTERNAL_ERROR, error);
  }
}
