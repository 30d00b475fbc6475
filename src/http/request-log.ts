import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { Injectable, type LogLevel } from '@nestjs/common';
import type express from 'express';
import type { Caller } from '../auth/verdict.js';
import { Configuration } from '../configuration/configuration.js';
import { Metrics, NO_OPERATION } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { type RequestSpan, Tracing } from '../telemetry/tracing.js';

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const UUID_WITHOUT_DASHES = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i;

/** The refused credentials, such as `api_key, access_token`, and the reason for each, such as `expired, missing`. */
interface CredentialRefusal {
  readonly credential: string;
  readonly reason: string;
  /** The client of the API key, if the key is in our list (even if it is revoked or expired). */
  readonly owner?: Caller | undefined;
}

/** The facts about a request, for its answer, its log line and its metrics. */
export interface RequestContext {
  readonly id: string;
  /** The address of the connection. Undefined if the client has already reset it. */
  readonly peer: string | undefined;
  /** The start, by the monotonic clock. Undefined for bytes that never became a request. */
  readonly startedAtMs?: number;
  readonly span?: RequestSpan | undefined;
  caller?: Caller;
  /** The client that the access token names, if its signature was verified. */
  tokenClient?: string | undefined;
  refusal?: CredentialRefusal;
  problem?: string;
  /** The thrown value, if the service is to blame for the failure. */
  error?: unknown;
}

declare module 'express-serve-static-core' {
  interface Request {
    context: RequestContext;
  }
}

/** A request of Express, or only the context of bytes that never became a request. */
interface EndedRequest {
  readonly context: RequestContext;
  readonly method?: string;
  readonly route?: { readonly path: string };
  /** The addresses that our proxies wrote into X-Forwarded-For. The first is the client of the outermost proxy. */
  readonly ips?: readonly string[];
}

interface Outcome {
  readonly operation: string | undefined;
  readonly status: number;
  readonly durationMs: number | undefined;
}

/**
 * Counts, traces and logs each request when its response is closed. If the client leaves before its answer begins,
 * there is no line, no count, and no span.
 */
@Injectable()
export class RequestLog {
  constructor(
    private readonly logger: ServiceLogger,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
    private readonly configuration: Configuration,
  ) {}

  /** Sets the context of the request and the header X-Request-Id. Logs the request when the response is closed. */
  begin(request: express.Request, response: express.Response): void {
    request.context = {
      id: parseRequestId(request.headers),
      peer: request.socket.remoteAddress,
      startedAtMs: performance.now(),
      span: this.tracing.startRequest(request),
    };
    response.setHeader('X-Request-Id', request.context.id);
    response.once('close', () => {
      if (response.headersSent) this.end(request, response.statusCode);
    });
  }

  /** Logs a request that has ended. ParserErrors calls it for bytes that never became a request. */
  end(request: EndedRequest, status: number): void {
    const { id: requestId, startedAtMs, caller, span, error } = request.context;
    const operation = request.route?.path;
    const durationMs = startedAtMs === undefined ? undefined : performance.now() - startedAtMs;
    this.metrics.observeRequest({ operation, status, durationMs, client: caller?.client });
    span?.end({ operation, status, requestId, isFailed: status >= 500 || error !== undefined });
    this.writeLine(request, { operation, status, durationMs });
  }

  private writeLine(request: EndedRequest, outcome: Outcome): void {
    const { context } = request;
    const { operation, status, durationMs } = outcome;
    const level = chooseLevel(status, context.error);
    if (!this.logger.isLevelEnabled(level)) return; // saves the work for a line that is not written
    const { TRUSTED_PROXY_HOPS: hops } = this.configuration;
    this.logger[level]({
      message: 'request',
      requestId: context.id,
      operation: operation ?? NO_OPERATION,
      method: request.method,
      statusCode: status,
      durationMs: durationMs === undefined ? undefined : Math.round(durationMs * 1000) / 1000,
      address: findClientAddress({
        peer: context.peer,
        forwarded: hops > 0 ? (request.ips ?? []) : [], // read only if needed: Express parses X-Forwarded-For each time
        hops,
      }),
      ...describeContext(context),
    });
  }
}

/**
 * Returns the UUID in X-Request-Id, with dashes, or a new one. Any other text is ignored, because the id is written
 * unescaped into a URN, a header and the log.
 */
function parseRequestId(headers: IncomingHttpHeaders): string {
  const field = headers['x-request-id'];
  if (typeof field !== 'string') return randomUUID();
  const id = field.replace(UUID_WITHOUT_DASHES, '$1-$2-$3-$4-$5');
  return UUID.test(id) ? id : randomUUID();
}

function describeContext({ caller, tokenClient, refusal, problem, error, span }: RequestContext) {
  const owner = caller ?? refusal?.owner;
  return {
    keyId: owner?.keyId,
    client: owner?.client,
    tokenClient,
    credential: refusal?.credential,
    reason: refusal?.reason,
    problem,
    error,
    trace_id: span?.traceId,
    span_id: span?.spanId,
  };
}

/**
 * Returns the level of a request's line. A 503 is only a warning, because its cause has a line of its own. With an
 * error the level is `error` even for a status below 400: the answer failed after its header was sent.
 */
function chooseLevel(status: number, error: unknown): LogLevel {
  if (error !== undefined) return 'error';
  if (status === 503) return 'warn';
  if (status >= 500) return 'error';
  return status >= 400 ? 'log' : 'debug';
}

interface AddressSources {
  readonly peer: string | undefined;
  readonly forwarded: readonly string[];
  readonly hops: number;
}

/** Returns the address that the outermost of our proxies wrote into X-Forwarded-For, else that of the connection. */
function findClientAddress({ peer, forwarded, hops }: AddressSources): string | undefined {
  const peerAddress = peer === undefined ? undefined : stripIpv4Prefix(peer);
  // With fewer entries than hops, the request did not pass all our proxies. The client may have written the first entry
  if (forwarded.length < hops) return peerAddress;
  const [outermost] = forwarded;
  if (outermost === undefined) return peerAddress;
  const address = stripIpv4Prefix(stripPort(outermost));
  return isIP(address) > 0 ? address : peerAddress;
}

/** Returns 192.0.2.7 for `::ffff:192.0.2.7`, as a socket for both IPv4 and IPv6 writes it (RFC 4291). */
function stripIpv4Prefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** Removes the port, which some gateways write. */
function stripPort(entry: string): string {
  const ipv6 = /^\[(.+)\](?::\d+)?$/.exec(entry); // [2001:db8::1]:80 or [2001:db8::1]
  const ipv4 = /^([\d.]+):\d+$/.exec(entry); // 192.0.2.7:4711
  return ipv6?.[1] ?? ipv4?.[1] ?? entry;
}
