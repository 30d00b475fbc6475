/** What a span records about a request: never its query, a header, or a path that is not a route of the service. */
export interface TracedRequest {
  readonly method?: string | null;
  /** The pattern of the route that matched; `none` if none did. */
  readonly operation: string;
  readonly requestId: string;
  /** The value of a header. */
  field(name: 'traceparent' | 'tracestate'): string | undefined;
}

/** Fields of a log line, with the names that OpenTelemetry defines for logs in other formats. */
export interface TraceFields {
  readonly trace_id?: string;
  readonly span_id?: string;
}

/** The span of the caller. */
export interface Parent {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** W3C Trace Context, section 3.2. Later versions may append fields. Anything else is free text, and stays out of the log. */
const TRACEPARENT =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

export function parentOf(traceparent: string | undefined): Parent | undefined {
  if (traceparent === undefined) return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (parseInt(flags ?? '', 16) & 1) === 1 };
}
