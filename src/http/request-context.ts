import type { Problem } from '../problems/problem.js';
import type { RequestSpan } from '../telemetry/request-span.js';

export interface Caller {
  readonly keyId: string;
  readonly client: string;
}

/** Why credentials were refused, in the fixed words of the metric. */
export interface Refusal {
  readonly credential: string;
  readonly reason: string;
  /** Whose key it is, where it is one of ours, revoked or expired included. */
  readonly owner?: Caller | undefined;
}

/** What the service knows of a request: for its answer, its log line and its metrics. */
export interface RequestContext {
  readonly id: string;
  /** By the monotonic clock. */
  readonly startedAtMs: number;
  readonly span?: RequestSpan | undefined;
  caller?: Caller;
  refusal?: Refusal;
  /** The rate limit of the caller is used up: any answer but a 304 is refused with this. */
  rateLimitProblem?: Problem;
  /** The problem type of the answer. */
  problem?: string;
  /** What was thrown, if it is a fault of the service. */
  error?: unknown;
}

declare module 'express-serve-static-core' {
  interface Request {
    context: RequestContext;
  }
}
