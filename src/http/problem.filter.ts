import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { Configuration } from '../configuration/configuration.js';
import type { ProblemSlug } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { RequestLog } from './request-log.js';

/** The problem types for exceptions of Nest and Express with these statuses. All others are `about:blank`. */
const SLUGS_BY_STATUS: Readonly<Record<number, ProblemSlug>> = {
  400: 'malformed-request',
  404: 'not-found',
  500: 'internal-error',
};
/** The detail of every unexpected 5xx. The error's own message is only logged, because it may contain a secret. */
const SERVER_ERROR_DETAIL = 'An unexpected condition was met. The log has it under the id of this occurrence.';
/**
 * Header fields that describe the body of the failed answer, and not the problem document. If a handler sets another
 * such field, add it here. `Problem.render` replaces Content-Type, Content-Length and Cache-Control.
 */
const CONTENT_HEADERS = ['Content-Disposition', 'Content-Encoding', 'ETag', 'Last-Modified'];

/** Answers every exception with a problem document (RFC 9457). */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly configuration: Configuration,
    private readonly adapterHost: HttpAdapterHost,
    private readonly requestLog: RequestLog,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    // A middleware that `app.use` adds runs before RequestContextMiddleware, so its request has no context yet
    if (!('context' in request)) this.requestLog.begin(request, response);
    const { context } = request;
    if (response.headersSent) {
      context.error = thrown;
      const isWhole = response.writableEnded;
      if (!isWhole) response.destroy(); // the cut connection shows the caller that the answer is not whole
      return;
    }
    // Turns Express's errors into HttpExceptions. Nest does so only for middleware, and not for parsers in interceptors
    const exception = this.adapterHost.httpAdapter.mapException(thrown);
    const problem = toProblem(exception);
    context.problem = problem.slug;
    const isThrownByUs = problem === thrown;
    const isUnexpected = problem.getStatus() >= 500 && !isThrownByUs;
    if (isUnexpected) context.error = thrown;
    for (const name of CONTENT_HEADERS) response.removeHeader(name);
    const { status, headers, body } = problem.render(context.id, this.configuration.baseAddress);
    response.status(status);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.end(body); // json() and send() would add a charset, which application/problem+json does not have
  }
}

/** Returns the problem for an exception. Nest's own exceptions keep their status. */
function toProblem(exception: unknown): Problem {
  if (exception instanceof Problem) return exception;
  if (!(exception instanceof HttpException)) return createProblem(500, SERVER_ERROR_DETAIL);
  const status = exception.getStatus();
  return status >= 500 ? createProblem(status, SERVER_ERROR_DETAIL) : describeClientError(exception);
}

function createProblem(status: number, detail: string): Problem {
  return new Problem(SLUGS_BY_STATUS[status] ?? 'about:blank', { detail, status });
}

/**
 * Returns the problem for an exception whose message is for callers. The messages about broken percent-encoding and
 * broken JSON are replaced: they quote the path or the body, which may contain a credential.
 */
function describeClientError(exception: HttpException): Problem {
  if (exception.cause instanceof URIError) {
    const detail = 'The percent-encoding of the path is broken.';
    return new Problem('malformed-request', { detail });
  }
  if (exception.cause instanceof SyntaxError) {
    return new Problem('malformed-request', { detail: 'The body is not valid JSON.' });
  }
  return createProblem(exception.getStatus(), readDetail(exception));
}

/** Returns the message of an exception as one text. Nest's pipes give a list of messages. */
function readDetail(exception: HttpException): string {
  const content = exception.getResponse();
  if (typeof content === 'string') return content;
  const { message = exception.message } = content as { message?: string | string[] };
  return Array.isArray(message) ? message.join('. ') : message;
}
