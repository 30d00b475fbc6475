import { Injectable } from '@nestjs/common';
import type { Log } from '../telemetry/log.js';
import { countRequest } from '../telemetry/count-request.js';
import type { Problem } from '../problems/problem.js';
import type { ProblemRenderer } from '../problems/problem-details.js';
import { type Answer, matches } from './answer.js';
import type { Page } from './page.js';
import type { ServiceRequest, ServiceResponse } from './service-request.js';

/** Sends every reply of the service: the one place where status, header fields and body meet, and where a request is counted and logged. */
@Injectable()
export class Replies {
  private draining = false;

  constructor(
    private readonly problems: ProblemRenderer,
    private readonly log: Log,
  ) {}

  /** From now on every reply closes its connection, so that callers move to another replica. */
  drain(): void {
    this.draining = true;
  }

  /** 200 with the bytes of the answer, or 304 where the caller has them already. */
  answer(request: ServiceRequest, response: ServiceResponse, answer: Answer): void {
    const { requestId, method, head } = request;
    if (this.draining) response.shouldKeepAlive = false;
    if (matches(head.ifNoneMatch, answer.etag)) {
      response.writeHead(304, [
        'ETag',
        answer.etag,
        'Cache-Control',
        'private, no-cache',
        'X-Content-Type-Options',
        'nosniff',
        'X-Request-Id',
        requestId,
      ]);
      response.end();
      this.finished(request, 304);
      return;
    }
    response.writeHead(200, [
      'Content-Type',
      'application/json',
      'Content-Length',
      answer.contentLength,
      'ETag',
      answer.etag,
      'Cache-Control',
      'private, no-cache',
      'X-Content-Type-Options',
      'nosniff',
      'X-Request-Id',
      requestId,
    ]);
    const { parts } = answer;
    if (method === 'HEAD') response.end();
    else if (parts.length === 1) response.end(parts[0]);
    else {
      response.cork();
      for (const part of parts) response.write(part);
      response.end();
      response.uncork();
    }
    this.finished(request, 200);
  }

  page(request: ServiceRequest, response: ServiceResponse, { type, body, policy }: Page): void {
    if (this.draining) response.shouldKeepAlive = false;
    response.writeHead(200, [
      'Content-Type',
      type,
      'Content-Length',
      String(body.length),
      'Cache-Control',
      'no-cache',
      'Content-Security-Policy',
      policy,
      'X-Content-Type-Options',
      'nosniff',
      'Referrer-Policy',
      'no-referrer',
      'X-Request-Id',
      request.requestId,
    ]);
    response.end(request.method === 'HEAD' ? undefined : body);
    this.finished(request, 200);
  }

  problem(
    request: ServiceRequest,
    response: ServiceResponse,
    problem: Problem,
    cause?: unknown,
  ): void {
    const { status, headers, body } = this.problems.answer(problem, request.requestId);
    if (this.draining || problem.circumstances.close) response.shouldKeepAlive = false;
    response.writeHead(status, headers);
    response.end(request.method === 'HEAD' ? undefined : body);
    this.finished(request, status, problem, cause);
  }

  /** Counts and logs a request. Called by what sends a reply, at the moment of sending. */
  finished(request: ServiceRequest, status: number, problem?: Problem, cause?: unknown): void {
    const { operation } = request;
    const milliseconds = performance.now() - request.startedAt;
    countRequest(operation, status, milliseconds / 1000, request.caller?.client);
    const level = status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
    if (!this.log.isLevelEnabled(level)) return;
    const { requestId, method, caller, head } = request;
    const line = {
      requestId,
      operation,
      method,
      status,
      durationMs: Math.round(milliseconds * 1000) / 1000,
      keyId: caller?.keyId,
      client: caller?.client,
      traceparent: validTraceparent(head.traceparent),
      problem: problem?.slug,
      err: cause,
    };
    this.log[level](line, 'request');
  }
}

/** W3C Trace Context, version 00. Anything else is free text, and stays out of the log. */
const validTraceparent = (traceparent: string | undefined): string | undefined =>
  traceparent !== undefined && /^[0-9a-f]{2}(-[0-9a-f]{2,32}){3}$/.test(traceparent)
    ? traceparent
    : undefined;
