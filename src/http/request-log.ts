import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';
import type { RequestContext } from './request-context.js';
import { requestIdOf } from './request-id.js';

/** A request, or bytes that never became one. */
export interface ReceivedRequest {
  readonly method?: string;
  readonly headers: IncomingHttpHeaders;
}

interface AnsweredRequest extends ReceivedRequest {
  readonly context: RequestContext;
  readonly route?: { readonly path: string };
  readonly ips?: readonly string[];
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/**
 * Counts, traces and logs each request, in one line when its response has ended. A client that leaves before its answer
 * has begun leaves nothing behind: no line, no count, and no span that is sent.
 */
@Injectable()
export class RequestLog {
  constructor(
    private readonly logger: ServiceLogger,
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
    private readonly configuration: Configuration,
  ) {}

  begin(request: ReceivedRequest): RequestContext {
    return {
      id: requestIdOf(request.headers),
      startedAtMs: performance.now(),
      span: this.tracing.startRequest(request),
    };
  }

  end(request: AnsweredRequest, status: number): void {
    const { id: requestId, startedAtMs, caller, span } = request.context;
    const operation = request.route?.path ?? 'none';
    const durationMs = performance.now() - startedAtMs;
    this.metrics.observeRequest({
      operation,
      status,
      durationSeconds: durationMs / 1000,
      client: caller?.client,
    });
    span?.end({ operation, status, requestId });
    const level = levelOf(status);
    if (!this.logger.isLevelEnabled(level === 'log' ? 'info' : level)) return;
    this.logger[level]({
      message: 'request',
      requestId,
      operation,
      method: request.method,
      statusCode: status,
      durationMs: Math.round(durationMs * 1000) / 1000,
      address: this.addressOf(request),
      ...outcomeOf(request.context),
    });
  }

  /** What the outermost of our own proxies wrote into X-Forwarded-For, or the peer's address. */
  private addressOf({ ips = [], socket }: AnsweredRequest): string | undefined {
    const { TRUSTED_PROXY_HOPS: hops } = this.configuration;
    const peer = socket.remoteAddress?.replace(IPV4_IN_IPV6, '');
    // With fewer entries than proxies the first entry may be free text of the client
    const [entry] = ips.length === hops ? ips : [];
    if (entry === undefined) return peer;
    const address = withoutPort(entry).replace(IPV4_IN_IPV6, '');
    return isIP(address) > 0 ? address : peer;
  }
}

/** Who asked, and what became of it. */
function outcomeOf({ caller, refusal, problem, error, span }: RequestContext) {
  const owner = caller ?? refusal?.owner;
  return {
    keyId: owner?.keyId,
    client: owner?.client,
    credential: refusal?.credential,
    reason: refusal?.reason,
    problem,
    error,
    trace_id: span?.traceId,
    span_id: span?.spanId,
  };
}

/** A socket of both families shows IPv4 addresses as IPv6 (RFC 4291 section 2.5.5.2). */
const IPV4_IN_IPV6 = /^::ffff:(?=\d+\.)/i;

/** Some gateways write `192.0.2.7:4711` or `[2001:db8::1]:80`. */
function withoutPort(entry: string): string {
  const [, ipv6] = /^\[(.+)\](?::\d+)?$/.exec(entry) ?? [];
  if (ipv6 !== undefined) return ipv6;
  const [, ipv4] = /^([\d.]+):\d+$/.exec(entry) ?? [];
  return ipv4 ?? entry;
}

/** A 503 is only a warning, because its cause has a line of its own where it happened. */
function levelOf(status: number): 'error' | 'warn' | 'log' | 'debug' {
  if (status === 503) return 'warn';
  if (status >= 500) return 'error';
  return status >= 400 ? 'log' : 'debug';
}
