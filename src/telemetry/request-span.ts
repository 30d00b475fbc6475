/** What is known of a request when its response has ended. */
export interface AnsweredRequest {
  /** The pattern of the route, or `none`. */
  readonly operation: string;
  readonly status: number;
  readonly requestId: string;
}

/** A request that belongs to a trace. */
export interface RequestSpan {
  readonly traceId: string;
  /** Undefined where traces are off or this one is not sampled: then the trace is only that of the caller. */
  readonly spanId: string | undefined;
  end(request: AnsweredRequest): void;
}
