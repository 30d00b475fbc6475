// Traces with OpenTelemetry. Unless a collector is configured, nothing of OpenTelemetry is loaded and no connection is made. No request,
// reload or shutdown waits for the collector: spans that it does not accept in time are dropped and counted.
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Configuration } from '../configuration/configuration.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import type { OpenTelemetry } from './open-telemetry.js';
import { type TraceFields, type TracedRequest, parentOf } from './trace-context.js';

@Injectable()
export class Tracing implements OnApplicationShutdown {
  /** @param tracer undefined if traces are off */
  constructor(private readonly tracer?: OpenTelemetry) {}

  static async create(configuration: Configuration, log: Log, metrics: Metrics): Promise<Tracing> {
    if (configuration.OTEL_EXPORTER_OTLP_ENDPOINT === '' || configuration.OTEL_SDK_DISABLED)
      return new Tracing();
    const { OpenTelemetry } = await import('./open-telemetry.js');
    return new Tracing(new OpenTelemetry(configuration, log, metrics));
  }

  /** Records the span of an answered request, and returns the fields for its log line. */
  request(request: TracedRequest, status: number, milliseconds: number): TraceFields {
    return this.tracer
      ? this.tracer.request(request, status, milliseconds)
      : { trace_id: parentOf(request.field('traceparent'))?.traceId };
  }

  /** Does the work within a new span. */
  traced<Result>(
    name: string,
    attributes: Record<string, string>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    return this.tracer ? this.tracer.work(name, attributes, work) : work();
  }

  /** Sends the last spans to the collector, if it accepts them in time. */
  async onApplicationShutdown(): Promise<void> {
    await this.tracer?.stop();
  }
}
