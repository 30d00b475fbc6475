// Traces with OpenTelemetry. Unless a collector is configured, nothing of OpenTelemetry is loaded and no connection is made. No request,
// reload or shutdown waits for the collector: spans that it does not accept in time are dropped and counted.
import type { Configuration } from '../configuration/configuration.js';
import type { Log } from './log.js';

/** What a span records about a request: never its query, a header, or a path that is not a route of the service. */
export interface TracedRequest {
  readonly method?: string | null;
  /** The pattern of the route that matched; `none` if none did. */
  readonly operation: string;
  readonly requestId: string;
  readonly head: {
    readonly traceparent: string | undefined;
    readonly tracestate: string | undefined;
  };
}

/** Fields of a log line, with the names that OpenTelemetry defines for logs in other formats. */
export interface TraceFields {
  readonly trace_id?: string;
  readonly span_id?: string;
}

export interface Tracer {
  request(request: TracedRequest, status: number, milliseconds: number): TraceFields;
  work<Result>(
    name: string,
    attributes: Record<string, string>,
    work: () => Promise<Result>,
  ): Promise<Result>;
  stop(): Promise<void>;
}

let tracer: Tracer | undefined;

export async function startTracing(configuration: Configuration, log: Log): Promise<void> {
  if (configuration.OTEL_EXPORTER_OTLP_ENDPOINT === '' || configuration.OTEL_SDK_DISABLED) return;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  tracer = new OpenTelemetry(configuration, log);
}

/** Sends the last spans to the collector, if it accepts them in time. */
export const stopTracing = async (): Promise<void> => tracer?.stop();

/** Records the span of an answered request, and returns the fields for its log line. */
export function traceRequest(
  request: TracedRequest,
  status: number,
  milliseconds: number,
): TraceFields {
  if (tracer) return tracer.request(request, status, milliseconds);
  const { traceparent } = request.head;
  return traceparent === undefined ? NONE : { trace_id: TRACEPARENT.exec(traceparent)?.[1] };
}

/** Does the work within a new span. */
export const traced = <Result>(
  name: string,
  attributes: Record<string, string>,
  work: () => Promise<Result>,
): Promise<Result> => (tracer ? tracer.work(name, attributes, work) : work());

const NONE: TraceFields = {};
/** W3C Trace Context, section 3.2. Anything else is free text, and stays out of the log. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
