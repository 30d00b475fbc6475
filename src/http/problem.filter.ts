import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  NotFoundException,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { Configuration } from '../configuration/configuration.js';
import type { ProblemSlug } from '../problems/problem-types.js';
import { Problem, malformed } from '../problems/problem.js';

/** Only these statuses have a problem type of ours; all others are `about:blank`. */
const SLUGS: Readonly<Record<number, ProblemSlug>> = { 400: 'malformed-request', 404: 'not-found' };
/** Header fields that describe the answer that is not sent. */
const CONTENT_HEADERS = ['Content-Disposition', 'Content-Encoding', 'ETag', 'Last-Modified'];

/** Answers whatever was thrown with a problem document (RFC 9457). */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly configuration: Configuration) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const { context } = request;
    const problem = problemOf(exception, request);
    context.problem = problem.slug;
    if (problem.getStatus() >= 500 && problem !== exception) context.error = exception;
    if (response.headersSent) {
      response.destroy(); // a cut connection tells the caller that the answer is not whole
      return;
    }
    for (const name of CONTENT_HEADERS) response.removeHeader(name);
    const { status, headers, body } = problem.render(context.id, this.configuration.baseAddress);
    response.status(status);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(body); // json() and send() would add a charset, which the type does not have
  }
}

function problemOf(exception: unknown, request: Request): Problem {
  if (!(exception instanceof HttpException)) return faultOfService();
  const isProblem = exception instanceof Problem;
  if (exception.getStatus() >= 500) return isProblem ? exception : faultOfService();
  const { rateLimitProblem } = request.context;
  if (rateLimitProblem) return rateLimitProblem;
  return isProblem ? exception : problemOfCaller(exception, request);
}

/** What was thrown stays in the log: it may hold what no caller should see. */
function faultOfService(): Problem {
  return new Problem('internal-error', {
    detail: 'An unexpected condition was met. The log has it under the id of this occurrence.',
  });
}

function problemOfCaller(exception: HttpException, request: Request): Problem {
  // The messages of these three name what was sent, which may be a credential
  if (exception instanceof NotFoundException && request.route === undefined) {
    return new Problem('not-found', {
      detail:
        'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
    });
  }
  if (exception.cause instanceof URIError) {
    return malformed('The percent-encoding of the path is broken.');
  }
  if (exception.cause instanceof SyntaxError) return malformed('The body is not valid JSON.');
  const status = exception.getStatus();
  const slug = SLUGS[status] ?? 'about:blank';
  return new Problem(slug, { detail: detailOf(exception), status });
}

/** Nest's pipes give a list of messages. */
function detailOf(exception: HttpException): string {
  const content = exception.getResponse();
  if (typeof content === 'string') return content;
  const { message = exception.message } = content as { message?: string | string[] };
  return Array.isArray(message) ? message.join('. ') : message;
}
