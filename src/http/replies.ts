import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import proxyAddr from 'proxy-addr';
import { Configuration } from '../configuration/configuration.js';
import type { Problem } from '../problems/problem.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';
import type { Answer } from './answer.js';
import { corsFields } from './cors.js';
import type { ServiceRequest, ServiceResponse } from './service-request.js';

/** A connection is closed whose client reads nothing of an answer: when this time has passed twice, since Node.js counts the first write as progress. As a time-out of each request it takes 2.7 % of the CPU time of a 200. */
const STALLED_MS = 30_000;

type Details = Readonly<{ problem?: string; err?: unknown; encoding?: BufferEncoding }>;

/** Every reply that leaves the process is sent, counted and logged here, also one to bytes that never became a request. */
@Injectable()
export class Replies implements BeforeApplicationShutdown {
  /** The process is ending: readiness is 503 and replies close their connections, while requests still arrive. */
  isDraining = false;

  constructor(
    private readonly problems: ProblemRenderer,
    private readonly logger: ServiceLogger,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
    private readonly configuration: Configuration,
  ) {}

  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.isDraining = true;
    if (signal !== undefined) await pause(this.configuration.DRAIN_SECONDS * 1000);
  }

  sendAnswer(response: ServiceResponse, answer: Answer): void {
    const { req: request } = response;
    const known = answer.tagIn(request.headers['if-none-match']);
    if (known) {
      const tag = ['X-Request-Id', request.requestId, 'ETag', known];
      return this.send(response, 304, tag.concat(answer.kind.fields));
    }
    const { fields, chunks } = answer.representationFor(request);
    this.send(response, 200, fields.with(1, request.requestId), chunks);
  }

  sendOptions(response: ServiceResponse): void {
    const { requestId, allow } = response.req;
    this.send(response, 204, ['X-Request-Id', requestId, 'Allow', allow]);
  }

  sendProblem(response: ServiceResponse, problem: Problem, err?: unknown): void {
    for (const name of response.getHeaderNames()) response.removeHeader(name); // of the answer that is not sent
    const { status, headers, body } = this.problems.render(problem, response.req.requestId);
    this.send(response, status, headers, [body], { problem: problem.slug, err, encoding: 'utf8' });
  }

  /** What a controller returns that is no Answer: Express writes it. */
  sendWith(response: ServiceResponse, write: () => void): void {
    const { req: request } = response;
    const more = this.prepare(response, response.statusCode);
    if (!more) return;
    response.setHeader('X-Request-Id', request.requestId);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', 'no-store');
    for (let at = 0; at < more.length; at += 2)
      response.appendHeader(more[at] ?? '', more[at + 1] ?? '');
    response.once('close', () => this.countAndLog(request, response.statusCode, {}));
    request.socket.setTimeout(STALLED_MS);
    write();
  }

  private send(
    response: ServiceResponse,
    status: number,
    fields: string[],
    chunks: Answer['chunks'] = [],
    details: Details = {},
  ): void {
    const more = this.prepare(response, status);
    if (!more) return;
    if (more.length > 0) fields.push(...more);
    response.writeHead(status, fields);
    if (chunks.length > 1) for (const chunk of chunks.slice(0, -1)) response.write(chunk);
    response.end(chunks.at(-1), details.encoding ?? 'latin1');
    if (response.writableLength > 0) response.req.socket.setTimeout(STALLED_MS);
    this.countAndLog(response.req, status, details);
  }

  /** The last header fields of a reply. Undefined if it is not to be sent: there is one already, or the rate limit is used up. */
  private prepare(response: ServiceResponse, status: number): readonly string[] | undefined {
    const { req: request } = response;
    const { socket, counted } = request;
    if (response.headersSent || socket.destroyed) return undefined;
    // Requests that wait on the connection are answered first, so that a client that pipelines loses none
    const isLast = this.isDraining && socket.responses.at(-1) === response;
    if (isLast || request.hasUnreadBody) response.shouldKeepAlive = false;
    const cors = corsFields(this.configuration.CORS_ORIGINS, request);
    const isFree = status === 304 || status === 503;
    if (!counted || isFree) {
      if (counted) counted.window.count--;
      return cors;
    }
    if (!counted.problem || status === 429 || status >= 500) return [...counted.fields, ...cors];
    this.sendProblem(response, counted.problem);
    return undefined;
  }

  private countAndLog(request: ServiceRequest, status: number, { problem, err }: Details): void {
    const { operation, requestId, caller, refusal } = request;
    const { keyId, client } = caller ?? refusal?.owner ?? {};
    const milliseconds = performance.now() - request.startedAt;
    const durationSeconds = milliseconds / 1000;
    this.metrics.observeRequest({ operation, status, durationSeconds, client: caller?.client });
    const span = this.tracing.startRequest(request);
    span?.end({ operation, status, requestId });
    // Not at error: what a 503 comes of has a line of its own, or is a token that no key verifies
    const level =
      status === 503 ? 'warn' : status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
    if (!this.logger.isLevelEnabled(level)) return;
    // One literal: put together with spreads it takes six times as long on Node.js 20
    const line = {
      message: 'request',
      requestId,
      operation,
      method: request.method ?? undefined,
      statusCode: status,
      durationMs: Math.round(milliseconds * 1000) / 1000,
      address: this.addressOf(request),
      keyId,
      client,
      credential: refusal?.credential,
      reason: refusal?.reason,
      problem,
      err,
      trace_id: span?.traceId,
      span_id: span?.spanId,
    };
    this.logger[level === 'info' ? 'log' : level](line);
  }

  /** The entry of X-Forwarded-For that the outermost of our own proxies has written, or the peer's address. */
  private addressOf(request: ServiceRequest): string | undefined {
    const { TRUSTED_PROXY_HOPS: hops } = this.configuration;
    if (hops === 0) return request.socket.remoteAddress;
    const entry = proxyAddr.all(request)[hops] ?? '';
    const address = entry.replace(/^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2'); // without brackets and port
    return isIP(address) > 0 ? address : request.socket.remoteAddress; // anything else is free text of the client
  }
}
