import type { RequestSpan } from '../telemetry/request-span.js';
import type { Connection } from './connection.js';

/** The client that an API key belongs to. */
interface KeyOwner {
  readonly keyId: string;
  readonly client: string;
}

/** Why credentials were refused, in the fixed words of the metric. */
interface Refusal {
  readonly credential: string;
  readonly reason: string;
  /** The caller whose API key was sent, if the key is one of ours: a key in force, or a revoked or expired one. */
  readonly owner?: KeyOwner | undefined;
}

/** What the service knows of a request: for its answer, its log line and its metrics. */
export interface RequestContext {
  readonly id: string;
  readonly connection: Connection;
  /** When the request began, by the monotonic clock; undefined where Node.js does not tell. */
  readonly startedAtMs: number | undefined;
  readonly span?: RequestSpan | undefined;
  caller?: KeyOwner;
  refusal?: Refusal;
  /** The problem type of the answer. */
  problem?: string;
  /** What was thrown, if the service is to blame for it. */
  error?: unknown;
}

declare module 'express-serve-static-core' {
  interface Request {
    context: RequestContext;
  }
}
