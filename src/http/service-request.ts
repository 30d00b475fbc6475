import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connectionOf } from './connection.js';
import { type RequestHead, readRequestHead } from './request-head.js';

/** Who calls, once his key was found good: for the log and the rate limit. */
export interface Caller {
  readonly keyId: string;
  readonly client: string;
}

/** A request of ours. What Express's router adds is declared here, too, so that all requests have one shape for V8. */
export class ServiceRequest extends IncomingMessage {
  head: RequestHead;
  requestId = '';
  /** Milliseconds of the monotonic clock. */
  startedAt = 0;
  /** The request target, set by the router. */
  originalUrl = '';
  /** Set by the router when a route matches. */
  route: { path: string } | undefined = undefined;
  private keyHolder: Caller | undefined = undefined;

  /** Takes in what the headers say. Called once, first thing. */
  open(): void {
    this.startedAt = performance.now();
    this.head = readRequestHead(this);
    this.requestId = isUuid(this.head.requestId) ? this.head.requestId : randomUUID();
  }

  get caller(): Caller | undefined {
    return this.keyHolder;
  }

  /** Set as soon as the key was found good: from then on the connection keeps its place when others have to make room. */
  set caller(caller: Caller) {
    this.keyHolder = caller;
    connectionOf(this).becomeKnown();
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

export class ServiceResponse extends ServerResponse<ServiceRequest> {
  /** Header fields that go with the reply, whatever it will be, as a flat list of names and values. */
  fields: readonly string[] = NONE;
}

const NONE: readonly string[] = [];

/** `instance` is `urn:uuid:<request id>`, so only a UUID is taken over from the caller. */
const isUuid = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
