import { randomUUID } from 'node:crypto';
import { IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Known when the API key has been accepted: for the log and the rate limit. */
export interface Caller {
  readonly keyId: string;
  readonly client: string;
}

/** Why credentials were refused, for the log only. The caller is known where the key is one of ours, revoked or expired included. */
export type Refusal = Partial<Caller> & { readonly credential: string; readonly reason: string };

export type ServiceResponse = ServerResponse<ServiceRequest>;

/** A socket of the API's server, with the latest responses in the order of the requests: those that the client has not read, and the last one. */
export type ServiceSocket = Socket & { responses: ServiceResponse[] };

/** The class of requests, with the properties that Express's router sets. Node.js makes objects of it (its option IncomingMessage). */
export class ServiceRequest extends IncomingMessage {
  declare socket: ServiceSocket;
  requestId = '';
  /** In milliseconds of the monotonic clock. */
  startedAt = 0;
  originalUrl = '';
  route: { path: string } | undefined = undefined;
  caller: Caller | undefined = undefined;
  refusal: Refusal | undefined = undefined;
  /** Further header fields of its answer, names and values in turn. */
  fields: readonly string[] = [];

  /**
   * Node.js reads a packet only up to a request that changes the protocol. So nothing more is read from a connection that has been cut: a packet
   * holds up to a thousand requests, which cost three times the CPU time and 200 MiB with 100 such connections.
   */
  get upgrade(): boolean {
    return this.socket.destroyed || this.method === 'CONNECT';
  }

  set upgrade(_isAsked: boolean) {}

  /** Called once, before anything else. `instance` is `urn:uuid:<request id>`, so X-Request-Id is used only if it is a UUID. */
  open(): void {
    this.startedAt = performance.now();
    const id = this.field('x-request-id') ?? '';
    this.requestId = UUID.test(id) ? id : randomUUID();
  }

  /** The value of a header. The server's option joinDuplicateHeaders joins its lines with commas (RFC 9110 section 5.2). */
  field(name: string): string | undefined {
    return this.headers[name]?.toString();
  }

  /** Whether a header, whose values hold no comma, was sent in more than one line. */
  isRepeated(name: string): boolean {
    const isSent = (text: string, at: number): boolean =>
      at % 2 === 0 && text.toLowerCase() === name;
    return this.field(name)?.includes(',') === true && this.rawHeaders.filter(isSent).length > 1;
  }

  /** The pattern of the route that matched: one of a fixed set, so it can be a label of metrics. */
  get operation(): string {
    return this.route?.path ?? 'none';
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
