import type { IncomingMessage } from 'node:http';
import { Injectable, type LogLevel } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Metrics, NO_OPERATION } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';
import { clientAddress } from './client-address.js';
import type { Connection } from './connection.js';
import type { RequestContext } from './request-context.js';
import { requestIdOf } from './request-id.js';

/** A request of Express, or only the context of bytes that never became a request. */
interface EndedRequest {
  readonly context: RequestContext;
  readonly method?: string;
  /** The route that was found, if there is one. */
  readonly route?: { readonly path: string };
  /** The entries of X-Forwarded-For that Express's setting `trust proxy` lets count. */
  readonly ips?: readonly string[];
}

/** How a request ended. */
interface Outcome {
  readonly operation: string | undefined;
  readonly status: number;
  readonly durationMs: number | undefined;
}

/**
 * Counts, traces and logs each request, in one line when its response is closed. A client that leaves before its answer
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

  begin(request: IncomingMessage, connection: Connection): RequestContext {
    return {
      id: requestIdOf(request.headers),
      connection,
      startedAtMs: performance.now(),
      span: this.tracing.startRequest(request),
    };
  }

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
    const level = levelOf(status, context.error);
    if (!this.logger.isLevelEnabled(level)) return; // a line that is not written is not put together
    this.logger[level]({
      message: 'request',
      requestId: context.id,
      operation: operation ?? NO_OPERATION,
      method: request.method,
      statusCode: status,
      durationMs: durationMs === undefined ? undefined : Math.round(durationMs * 1000) / 1000,
      address: clientAddress({
        peer: context.connection.remoteAddress,
        forwarded: request.ips ?? [],
        hops: this.configuration.TRUSTED_PROXY_HOPS,
      }),
      ...fieldsOf(context),
    });
  }
}

/** Who asked, why the request was refused, and to which trace it belongs. */
function fieldsOf({ caller, refusal, problem, error, span }: RequestContext) {
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

/**
 * The level of a request's line. A 503 is only a warning, because its cause has a line of its own where it happened. An
 * answer that failed after its header has a status below 400, and is an error nevertheless.
 */
function levelOf(status: number, error: unknown): LogLevel {
  if (error !== undefined) return 'error';
  if (status === 503) return 'warn';
  if (status >= 500) return 'error';
  return status >= 400 ? 'log' : 'debug';
}
