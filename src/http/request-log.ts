import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';
import { clientAddress } from './client-address.js';
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
  /** Of X-Forwarded-For, as Express's setting `trust proxy` has it. */
  readonly ips?: readonly string[];
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** How a request ended. */
interface Outcome {
  readonly operation: string;
  readonly status: number;
  readonly durationMs: number;
}

/** The levels of request lines, and the methods of Nest's loggers that write them. */
const LOG_METHODS = { error: 'error', warn: 'warn', info: 'log', debug: 'debug' } as const;

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
    this.writeLine(request, { operation, status, durationMs });
  }

  private writeLine(request: AnsweredRequest, outcome: Outcome): void {
    const { operation, status, durationMs } = outcome;
    const level = levelOf(status);
    if (!this.logger.isLevelEnabled(level)) return; // nothing is put together that is not written
    this.logger[LOG_METHODS[level]]({
      message: 'request',
      requestId: request.context.id,
      operation,
      method: request.method,
      statusCode: status,
      durationMs: Math.round(durationMs * 1000) / 1000,
      address: clientAddress({
        peer: request.socket.remoteAddress,
        forwarded: request.ips ?? [],
        hops: this.configuration.TRUSTED_PROXY_HOPS,
      }),
      ...callerFields(request.context),
    });
  }
}

/** Who asked, why it was refused, and to which trace it belongs. */
function callerFields({ caller, refusal, problem, error, span }: RequestContext) {
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

/** A 503 is only a warning, because its cause has a line of its own where it happened. */
function levelOf(status: number): keyof typeof LOG_METHODS {
  if (status === 503) return 'warn';
  if (status >= 500) return 'error';
  return status >= 400 ? 'info' : 'debug';
}
