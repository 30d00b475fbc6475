import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Node.js runs all requests of a packet at once: without a limit one client could let thousands of answers wait. */
const MAX_UNREAD_RESPONSES = 100;

/** A connection of a client, and the responses to its requests. */
export class Connection {
  /** The address of the client. Node.js no longer knows the address after a reset, and the log line needs it. */
  readonly remoteAddress: string | undefined;
  /** When the client connected, by the monotonic clock. */
  readonly acceptedAtMs = performance.now();
  /** The responses that the client has not read to their end. */
  private readonly unreadResponses = new Set<ServerResponse>();
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
  }

  /** Whether a request was received on this connection, answered or not. */
  get hasRequest(): boolean {
    return this.latestResponse !== undefined;
  }

  get isFull(): boolean {
    return this.unreadResponses.size >= MAX_UNREAD_RESPONSES;
  }

  /** Whether the latest response is the last one of the connection (RFC 9112 section 9.6). */
  get isClosedByLatestResponse(): boolean {
    return this.latestResponse?.getHeader('Connection') === 'close';
  }

  /** Whether the latest response has begun before its request was there as a whole. */
  get isLatestResponseEarly(): boolean {
    const { latestResponse } = this;
    return (
      latestResponse !== undefined && latestResponse.headersSent && !latestResponse.req.complete
    );
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

  /** Notes that the parser has found an error. Further bytes are left to the client. */
  fail(): void {
    this.isFailed = true;
    this.socket.pause();
  }

  /**
   * Whether the connection can be closed without a loss: the client has read all responses, and has sent nothing since
   * its latest request. A client that has sent nothing at all may be about to. The beginning of a request in the packet
   * of the request before cannot be told from that request.
   */
  get isIdle(): boolean {
    if (this.isFailed || this.unreadResponses.size > 0) return false;
    return this.socket.bytesRead === this.bytesReadAtLatestRequest;
  }
}
