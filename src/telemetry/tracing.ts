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

  /** Undefined where no span is recorded and the caller names no trace. */
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

/** A platform sets the variables of OpenTelemetry for all its programs, so that none of them stops the start. */
export async function createTracing(
  configuration: Configuration,
  logger: ServiceLogger,
): Promise<Tracing> {
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
