import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';

/** The caller, known when the API key has been accepted: for the log and the rate limit. */
export interface Caller {
  readonly keyId: string;
  readonly client: string;
}

/** Why credentials were refused, for the log only. `keyId` and `client` are set where the key is one of ours, revoked or expired included. */
export interface Refusal extends Partial<Caller> {
  /** `api_key` or `access_token`, and one of the fixed words of the metric. If both were refused, both are named. */
  readonly credential: string;
  readonly reason: string;
}

/** The class of requests, with the properties that Express's router sets. Node.js makes objects of it (its option IncomingMessage). */
export class ServiceRequest extends IncomingMessage {
  requestId = '';
  /** Start of the request, in milliseconds of the monotonic clock. */
  startedAt = 0;
  /** The request target, set by the router. */
  originalUrl = '';
  /** Set by the router when a route matches. */
  route: { path: string } | undefined = undefined;
  /** Set when the API key has been accepted. */
  caller: Caller | undefined = undefined;
  /** Set when the credentials were refused. */
  refusal: Refusal | undefined = undefined;

  /** Called once, before anything else. `instance` is `urn:uuid:<request id>`, so X-Request-Id is used only if it is a UUID. */
  open(): void {
    this.startedAt = performance.now();
    const [id = ''] = this.headersDistinct['x-request-id'] ?? [];
    this.requestId = UUID.test(id) ? id : randomUUID();
  }

  /** The value of a header, in which the lines of a list are joined (RFC 9110 section 5.2). Node's `headers` drops some repeated lines. */
  field(name: string): string | undefined {
    const lines = this.headersDistinct[name];
    return lines && lines.length > 1 ? lines.join(', ') : lines?.[0];
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

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
