/** What is known of a request when its response is closed. */
export interface SpanEnd {
  /** The pattern of the route; undefined where no route was found. */
  readonly operation: string | undefined;
  readonly status: number;
  readonly requestId: string;
  /** Whether the service failed, before or after the status was sent. */
  readonly isFailed: boolean;
}

/** A request that belongs to a trace. */
export interface RequestSpan {
  readonly traceId: string;
  /** Undefined where no span is recorded, because traces are off or this request is not sampled. */
  readonly spanId: string | undefined;
  end(end: SpanEnd): void;
}
