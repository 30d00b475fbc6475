import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import type { OpenTelemetry } from './open-telemetry.js';
import type { RequestSpan } from './request-span.js';
import { ServiceLogger } from './service-logger.js';
import { traceIdOf } from './traceparent.js';

/** The server spans of the requests. Unless a collector is configured, OpenTelemetry's SDK is not loaded. */
@Injectable()
export class Tracing {
  constructor(private readonly openTelemetry?: OpenTelemetry) {}

  /** Starts the span of a request. Undefined where no span is recorded and the caller names no trace. */
  startRequest(request: Pick<IncomingMessage, 'method' | 'headers'>): RequestSpan | undefined {
    const span = this.openTelemetry?.startRequest(request);
    if (span) return span;
    const traceId = traceIdOf(request.headers);
    if (traceId === undefined) return undefined;
    return { traceId, spanId: undefined, end: () => undefined };
  }

  /** Sends the last spans. */
  async stop(): Promise<void> {
    await this.openTelemetry?.stop();
  }
}

/**
 * Makes the provider. A wrong variable of OpenTelemetry turns traces off, and never stops the start: a platform sets
 * these variables for all its programs.
 */
export async function createTracing(configuration: Configuration, logger: ServiceLogger): Promise<Tracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = configuration;
  const collector = OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || OTEL_EXPORTER_OTLP_ENDPOINT;
  const isDisabled = configuration.OTEL_SDK_DISABLED.toLowerCase() === 'true';
  if (collector === '' || isDisabled) return new Tracing();
  try {
    const { OpenTelemetry } = await import('./open-telemetry.js');
    return new Tracing(new OpenTelemetry(logger));
  } catch (error) {
    logger.warn({ message: 'traces are off: OpenTelemetry cannot be started', error });
    return new Tracing();
  }
}
