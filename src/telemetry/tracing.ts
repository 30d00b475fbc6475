// Traces with OpenTelemetry. Unless a collector is configured, nothing of OpenTelemetry is loaded and no connection is made.
import type { IncomingHttpHeaders } from 'node:http';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Configuration } from '../configuration/configuration.js';
import type { Log } from './log.js';
import type { OpenTelemetry } from './open-telemetry.js';

/** What a span records about a request: never its query, a header, or a path that is not a route of the service. */
export interface TracedRequest {
  readonly method?: string | null;
  readonly operation: string;
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
}

/** W3C Trace Context, section 3.2. Anything else is free text, and stays out of the log. */
const TRACEPARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/;

@Injectable()
export class Tracing implements OnApplicationShutdown {
  constructor(private readonly tracer?: OpenTelemetry) {}

  static async create(configuration: Configuration, log: Log): Promise<Tracing> {
    if (configuration.OTEL_EXPORTER_OTLP_ENDPOINT === '' || configuration.OTEL_SDK_DISABLED)
      return new Tracing();
    const { OpenTelemetry } = await import('./open-telemetry.js');
    return new Tracing(new OpenTelemetry(configuration, log));
  }

  /** Records the span of an answered request, and returns trace_id and span_id for its log line. */
  request(request: TracedRequest, status: number, milliseconds: number): object {
    const [, trace_id] = TRACEPARENT.exec(request.headers['traceparent']?.toString() ?? '') ?? [];
    return { trace_id, ...this.tracer?.request(request, status, milliseconds) };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.tracer?.stop();
  }
}
