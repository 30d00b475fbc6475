import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { type RequestHead, readRequestHead } from './request-head.js';

/** Who calls, once the guard has let him in: for the log and the rate limit. */
export interface Caller {
  readonly keyId: string;
  readonly client: string;
}

/** A request of ours. Express adds `res`, `route` and more; what the service adds is declared here, so that all requests have one shape for V8. */
export class ServiceRequest extends IncomingMessage {
  head: RequestHead;
  requestId = '';
  /** Milliseconds of the monotonic clock. */
  startedAt = 0;
  caller: Caller | undefined = undefined;
  /** The request target, set by Express. */
  originalUrl = '';
  /** Set by Express when a route matches. */
  route: { path: string } | undefined = undefined;
  res: ServiceResponse | undefined = undefined;

  /** Takes in what the headers say. Called once, first thing. */
  open(): void {
    this.startedAt = performance.now();
    this.head = readRequestHead(this);
    this.requestId = isUuid(this.head.requestId) ? this.head.requestId : randomUUID();
  }

  /** Whether a body is announced: a length above zero, or chunks. */
  get hasContent(): boolean {
    return Number(this.head.contentLength ?? 0) > 0 || this.head.transferEncoding !== undefined;
  }

  /** The pattern of the route that matched: a fixed set of names, fit for metrics. */
  get operation(): string {
    return this.route?.path ?? 'none';
  }
}

const NO_LOCALS = Object.freeze({});

export class ServiceResponse extends ServerResponse<ServiceRequest> {
  /** Express would make an object for each response; there is nothing to be put in. */
  locals = NO_LOCALS;
}

/** `instance` is `urn:uuid:<request id>`, so only a UUID is taken over from the caller. */
const isUuid = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
