import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connectionOf } from './connection.js';
import { type RequestHead, readRequestHead } from './request-head.js';

/** The caller, known when the API key has been accepted: for the log and the rate limit. */
export interface Caller {
  readonly keyId: string;
  readonly client: string;
}

/** Why the credentials of a request were refused: for the log only. `keyId` and `client` are set where the key is one of ours, revoked or expired included. */
export interface Refusal {
  /** One of the fixed words of the metric. */
  readonly reason: string;
  readonly keyId?: string;
  readonly client?: string;
}

/** The class of requests, with the properties that Express's router sets. */
export class ServiceRequest extends IncomingMessage {
  head: RequestHead;
  requestId = '';
  /** Start of the request, in milliseconds of the monotonic clock. */
  startedAt = 0;
  /** The request target, set by the router. */
  originalUrl = '';
  /** Set by the router when a route matches. */
  route: { path: string } | undefined = undefined;
  /** Set by the guard when it refuses the credentials. */
  refusal: Refusal | undefined = undefined;
  private keyHolder: Caller | undefined = undefined;

  /** Reads the headers. Called once, before anything else. */
  open(): void {
    this.startedAt = performance.now();
    this.head = readRequestHead(this);
    this.requestId = isUuid(this.head.requestId) ? this.head.requestId : randomUUID();
  }

  get caller(): Caller | undefined {
    return this.keyHolder;
  }

  /** Set when the API key has been accepted. From then on the connection is not closed to make room for others. */
  set caller(caller: Caller) {
    this.keyHolder = caller;
    connectionOf(this).becomeKnown();
  }

  /** Whether a body is announced: a length above zero, or chunks. */
  get hasContent(): boolean {
    return Number(this.head.contentLength ?? 0) > 0 || this.head.transferEncoding !== undefined;
  }

  /** The pattern of the route that matched: one of a fixed set, so it can be a label of metrics. */
  get operation(): string {
    return this.route?.path ?? 'none';
  }
}

export class ServiceResponse extends ServerResponse<ServiceRequest> {
  /** Header fields of every reply to this request, as a flat list of names and values. */
  fields: readonly string[] = [];
}

/** `instance` is `urn:uuid:<request id>`, so X-Request-Id is used only if it is a UUID. */
const isUuid = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
