import { isIP } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import proxyAddr from 'proxy-addr';
import { Configuration } from '../configuration/configuration.js';
import type { Problem } from '../problems/problem.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { Tracing } from '../telemetry/tracing.js';
import type { Answer } from './answer.js';
import { Cors, METHODS } from './cors.js';
import { Draining } from './draining.js';
import { connectionOf } from './server/connection.js';
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
    private readonly configuration: Configuration,
  ) {}

  /** 200 with the bytes of the answer, or 304 if the caller already has them. */
  sendAnswer(response: ServiceResponse, answer: Answer): void {
    const { req: request } = response;
    const known = answer.tagIn(request.field('if-none-match'));
    const { etag, kind, content, parts } = known ? answer : answer.representationFor(request);
    const fields = ['X-Request-Id', request.requestId, 'ETag', known ?? etag, ...kind.fields];
    if (known) this.send(response, 304, fields, []);
    else this.send(response, 200, [...fields, ...content], parts);
  }

  /** 204 with the allowed methods. */
  sendOptions(response: ServiceResponse): void {
    this.send(response, 204, ['X-Request-Id', response.req.requestId, ...ALLOW], []);
  }

  /** @param cause an error that is logged with its stack */
  sendProblem(response: ServiceResponse, problem: Problem, cause?: unknown): void {
    const { status, headers, body } = this.problems.render(problem, response.req.requestId);
    this.send(response, status, headers, [body], { problem: problem.slug, err: cause });
  }

  /** @param details further fields of the log line */
  private send(
    response: ServiceResponse,
    status: number,
    fields: readonly string[],
    parts: readonly Buffer[],
    details: object = {},
  ): void {
    if (response.headersSent) return;
    const { req: request } = response;
    // Requests that wait on the connection are answered first, so that a client that pipelines loses none
    if (this.draining.hasBegun && connectionOf(request).last === response)
      response.shouldKeepAlive = false;
    response.writeHead(status, [...fields, ...response.fields, ...this.cors.fieldsFor(request)]);
    if (request.method === 'HEAD') response.end();
    else {
      for (const part of parts.slice(0, -1)) response.write(part);
      response.end(parts.at(-1));
    }
    this.finished(request, status, details);
  }

  private finished(request: ServiceRequest, status: number, details: object): void {
    const { operation, requestId, method, caller, refusal } = request;
    const milliseconds = performance.now() - request.startedAt;
    this.metrics.countRequest(operation, status, milliseconds / 1000, caller?.client);
    const trace = this.tracing.request(request, status, milliseconds);
    const level = status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
    if (!this.log.isLevelEnabled(level)) return;
    const line = {
      requestId,
      operation,
      method: method ?? undefined, // null if the parser found none
      status,
      durationMs: Math.round(milliseconds * 1000) / 1000,
      address: this.addressOf(request),
      keyId: (caller ?? refusal)?.keyId,
      client: (caller ?? refusal)?.client,
      credential: refusal?.credential,
      reason: refusal?.reason,
      ...details,
      ...trace,
    };
    this.log[level](line, 'request');
  }

  /** The client's address: the entry of X-Forwarded-For that the outermost of our own proxies has written, or the peer's. */
  private addressOf(request: ServiceRequest): string | undefined {
    const { TRUSTED_PROXY_HOPS: hops } = this.configuration;
    const address = proxyAddr(request, (_, hop) => hop < hops);
    // Anything else is free text of the client
    return isIP(address) > 0 ? address : request.socket.remoteAddress;
  }
}
