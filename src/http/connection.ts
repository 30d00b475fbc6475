import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Node.js runs all requests of a packet at once. Without a limit a client that reads no answer keeps the memory of
 * thousands: 3.6 GB for 100 connections with 2,000 requests each (docs/decisions.md). No client is known that sends
 * more than a few dozen ahead.
 */
const MAX_UNREAD_RESPONSES = 100;

/** A connection of a client, and the responses to its requests. */
export class Connection {
  /** The address of the client. Node.js no longer knows the address after a reset, and the log line needs it. */
  readonly remoteAddress: string | undefined;
  /** When the client connected, by the monotonic clock. */
  readonly acceptedAtMs = performance.now();
  /** The responses that the client has not read to their end. */
  private readonly unreadResponses = new Set<ServerResponse>();
  /** Undefined before the first request, and after a response that nothing needs to be known of. */
  private latestResponse: ServerResponse | undefined;
  /** How many bytes the client had sent when its latest request began to run. */
  private bytesReadAtLatestRequest: number | undefined;
  /** The parser has found an error. The bytes behind the first error are errors as well. */
  private isFailed = false;

  constructor(readonly socket: Socket) {
    this.remoteAddress = socket.remoteAddress;
  }

  /** Notes the response to a request that begins to run. `remove` must be called when the response is closed. */
  add(response: ServerResponse): void {
    this.unreadResponses.add(response);
    this.latestResponse = response;
    this.bytesReadAtLatestRequest = this.socket.bytesRead;
  }

  remove(response: ServerResponse): void {
    this.unreadResponses.delete(response);
    const isNeeded = !response.req.complete || this.isClosedByLatestResponse;
    // It holds the request with its credentials, and the connection may stay quiet for long
    if (response === this.latestResponse && !isNeeded) this.latestResponse = undefined;
  }

  /** Whether a request was received on this connection, answered or not. */
  get hasRequest(): boolean {
    return this.bytesReadAtLatestRequest !== undefined;
  }

  get isFull(): boolean {
    return this.unreadResponses.size >= MAX_UNREAD_RESPONSES;
  }

  /**
   * Whether the latest response says `Connection: close` (RFC 9112 section 9.6), which requestLimits and the draining
   * set. The field that Node.js adds itself is not seen, but behind such a request its parser refuses further bytes.
   */
  get isClosedByLatestResponse(): boolean {
    return this.latestResponse?.getHeader('Connection') === 'close';
  }

  /** Whether the latest response has begun before the body of its request was complete: what follows is that body. */
  get isLatestResponseEarly(): boolean {
    const { latestResponse } = this;
    return latestResponse !== undefined && latestResponse.headersSent && !latestResponse.req.complete;
  }

  /** Calls back when the client has read the latest response, or at once where there is none to read. */
  whenLatestClosed(callback: () => void): void {
    const { latestResponse } = this;
    if (latestResponse && this.unreadResponses.has(latestResponse)) {
      latestResponse.once('close', callback);
    } else {
      callback();
    }
  }

  get hasFailed(): boolean {
    return this.isFailed;
  }

  /** Notes that the parser has found an error. From then on nothing is read from the client. */
  fail(): void {
    this.isFailed = true;
    this.socket.pause();
  }

  /**
   * Whether the connection can be closed without a loss: the client has read all responses, and has sent no byte since
   * its latest request began to run. It errs to both sides: a client that has sent nothing counts as about to send, and
   * a body that came after its request counts as a new request. The beginning of a request in the packet of the request
   * before is not seen.
   */
  get isIdle(): boolean {
    if (this.isFailed || this.unreadResponses.size > 0) return false;
    return this.socket.bytesRead === this.bytesReadAtLatestRequest;
  }
}
