import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import proxyAddr from 'proxy-addr';
import { Configuration } from '../configuration/configuration.js';
import { Problem } from '../problems/problem.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { LOG, type Log } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { Tracing } from '../telemetry/tracing.js';
import type { Answer } from './answer.js';
import { METHODS, corsFields } from './cors.js';
import type { ServiceRequest, ServiceResponse } from './service-request.js';

/** How long requests are answered after readiness has turned to 503, so that load balancers notice, in milliseconds. */
const DRAIN_MS = 4_000;
const ALLOW = ['Allow', METHODS];
export const NOT_ALLOWED = new Problem('method-not-allowed', {
  detail: 'The lookups are read-only: use GET, HEAD or OPTIONS.',
  headers: ALLOW,
});

/** Every reply that leaves the process is sent, counted and logged here, also one to bytes that never became a request. */
@Injectable()
export class Replies implements BeforeApplicationShutdown {
  /** Whether the process is ending: readiness is 503 and replies close their connections, while requests still arrive. */
  isDraining = false;

  constructor(
    private readonly problems: ProblemRenderer,
    @Inject(LOG) private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
    private readonly configuration: Configuration,
  ) {}

  /** @param signal that ends the process; without one the drain is skipped */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.isDraining = true;
    if (signal !== undefined) await pause(DRAIN_MS);
  }

  sendAnswer(response: ServiceResponse, answer: Answer): void {
    const { req: request } = response;
    const known = answer.tagIn(request.field('if-none-match'));
    const { etag, kind, content, parts } = known ? answer : answer.representationFor(request);
    const fields = ['X-Request-Id', request.requestId, 'ETag', known ?? etag, ...kind.fields];
    if (known) this.send(response, 304, fields, []);
    else this.send(response, 200, [...fields, ...content], parts);
  }

  sendOptions(response: ServiceResponse): void {
    this.send(response, 204, ['X-Request-Id', response.req.requestId, ...ALLOW], []);
  }

  /** @param err a fault of the service, which is logged with its stack */
  sendProblem(response: ServiceResponse, problem: Problem, err?: unknown): void {
    const { status, headers, body } = this.problems.render(problem, response.req.requestId);
    this.send(response, status, headers, [body], { problem: problem.slug, err });
  }

  private send(
    response: ServiceResponse,
    status: number,
    fields: readonly string[],
    parts: Answer['parts'],
    details = {},
  ): void {
    const { req: request } = response;
    const { responses, destroyed } = request.socket;
    if (response.headersSent || destroyed) return;
    // Requests that wait on the connection are answered first, so that a client that pipelines loses none
    if (this.isDraining && responses.at(-1) === response) response.shouldKeepAlive = false;
    const { CORS_ORIGINS: origins } = this.configuration;
    response.writeHead(status, [...fields, ...request.fields, ...corsFields(origins, request)]);
    for (const part of parts.slice(0, -1)) response.write(part);
    response.end(parts.at(-1));
    this.countAndLog(request, status, details);
  }

  private countAndLog(request: ServiceRequest, status: number, details: object): void {
    const { operation, requestId, method, caller, refusal } = request;
    const milliseconds = performance.now() - request.startedAt;
    this.metrics.countRequest(operation, status, milliseconds / 1000, caller?.client);
    const trace = this.tracing.request(request, status, milliseconds);
    const level = status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
    if (!this.log.isLevelEnabled(level)) return;
    const { keyId, client } = caller ?? refusal ?? {};
    const durationMs = Math.round(milliseconds * 1000) / 1000;
    const address = this.addressOf(request);
    const what = { requestId, operation, method: method ?? undefined, statusCode: status };
    const who = { durationMs, address, keyId, client, ...refusal };
    this.log[level]({ ...what, ...who, ...details, ...trace }, 'request');
  }

  /** The client's address: the entry of X-Forwarded-For that the outermost of our own proxies has written, or the peer's. */
  private addressOf(request: ServiceRequest): string | undefined {
    const address = proxyAddr.all(request)[this.configuration.TRUSTED_PROXY_HOPS] ?? '';
    return isIP(address) > 0 ? address : request.socket.remoteAddress; // anything else is free text of the client
  }
}
