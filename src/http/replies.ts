import { Inject, Injectable } from '@nestjs/common';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { Tracing } from '../telemetry/tracing.js';
import type { Problem } from '../problems/problem.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import type { Answer } from './answer.js';
import { connectionOf } from './connection.js';
import { Cors, METHODS } from './cors.js';
import { Draining } from './draining.js';
import type { ServiceRequest, ServiceResponse } from './service-request.js';

export const ALLOW = ['Allow', METHODS];

/**
 * Every reply that leaves the process goes through `send`, also a reply to bytes that never became a request. Here it gets the header fields
 * that all replies share, is counted, and is logged under its id.
 */
@Injectable()
export class Replies {
  constructor(
    private readonly problems: ProblemRenderer,
    private readonly cors: Cors,
    private readonly draining: Draining,
    @Inject(LOG) private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
  ) {}

  /** 200 with the bytes of the answer, or 304 if the caller already has them. */
  sendAnswer(request: ServiceRequest, response: ServiceResponse, answer: Answer): void {
    const { requestId, head } = request;
    const known = answer.tagIn(head.ifNoneMatch);
    const { etag, kind, content, parts } = known ? answer : answer.representationFor(request);
    const fields = ['X-Request-Id', requestId, 'ETag', known ?? etag, ...kind.fields];
    if (known) this.send(request, response, 304, fields, []);
    else this.send(request, response, 200, [...fields, ...content], parts);
  }

  /** 204 with the allowed methods. */
  sendOptions(request: ServiceRequest, response: ServiceResponse): void {
    this.send(request, response, 204, ['X-Request-Id', request.requestId, ...ALLOW], []);
  }

  /** @param cause an error that is logged with its stack */
  sendProblem(
    request: ServiceRequest,
    response: ServiceResponse,
    problem: Problem,
    cause?: unknown,
  ): void {
    const { status, headers, body } = this.problems.render(problem, request.requestId);
    this.send(request, response, status, headers, [body], problem, cause);
  }

  private send(
    request: ServiceRequest,
    response: ServiceResponse,
    status: number,
    fields: readonly string[],
    parts: readonly (Buffer | string)[],
    problem?: Problem,
    cause?: unknown,
  ): void {
    if (response.headersSent) return;
    // Requests that wait on the connection are answered first, so that a client that pipelines loses none
    if (this.draining.hasBegun && connectionOf(request).last === response)
      response.shouldKeepAlive = false;
    response.writeHead(status, [...fields, ...response.fields, ...this.cors.fieldsFor(request)]);
    if (request.method === 'HEAD') response.end();
    else if (parts.length <= 1) response.end(parts[0]);
    else {
      for (const part of parts) response.write(part);
      response.end();
    }
    this.finished(request, status, problem, cause);
  }

  private finished(
    request: ServiceRequest,
    status: number,
    problem: Problem | undefined,
    cause: unknown,
  ): void {
    const { operation } = request;
    const milliseconds = performance.now() - request.startedAt;
    this.metrics.countRequest(operation, status, milliseconds / 1000, request.caller?.client);
    const trace = this.tracing.request(request, status, milliseconds);
    const level = status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
    if (!this.log.isLevelEnabled(level)) return;
    const { requestId, method, caller, refusal } = request;
    const holder = caller ?? refusal;
    const line = {
      requestId,
      operation,
      method: method ?? undefined, // null if the parser found none
      status,
      durationMs: Math.round(milliseconds * 1000) / 1000,
      keyId: holder?.keyId,
      client: holder?.client,
      reason: refusal?.reason,
      problem: problem?.slug,
      err: cause,
      ...trace,
    };
    this.log[level](line, 'request');
  }
}
