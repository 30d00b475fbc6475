// Traces with OpenTelemetry. Unless a collector is configured, nothing of OpenTelemetry is loaded and no connection is made. No request,
// reload or shutdown waits for the collector: spans that it does not accept in time are dropped and counted.
import type { Configuration } from '../configuration/configuration.js';
import type { Log } from './log.js';
import type { OpenTelemetry } from './open-telemetry.js';
import { type TraceFields, type TracedRequest, parentOf } from './trace-context.js';

let tracer: OpenTelemetry | undefined;

export async function startTracing(configuration: Configuration, log: Log): Promise<void> {
  if (configuration.OTEL_EXPORTER_OTLP_ENDPOINT === '' || configuration.OTEL_SDK_DISABLED) return;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  tracer = new OpenTelemetry(configuration, log);
}

/** Sends the last spans to the collector, if it accepts them in time. */
export const stopTracing = async (): Promise<void> => tracer?.stop();

/** Records the span of an answered request, and returns the fields for its log line. */
export const traceRequest = (
  request: TracedRequest,
  status: number,
  milliseconds: number,
): TraceFields =>
  tracer
    ? tracer.request(request, status, milliseconds)
    : { trace_id: parentOf(request.head.traceparent)?.traceId };

/** Does the work within a new span. */
export const traced = <Result>(
  name: string,
  attributes: Record<string, string>,
  work: () => Promise<Result>,
): Promise<Result> => (tracer ? tracer.work(name, attributes, work) : work());
