import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MAX_WAITING } from '../limits.js';

/** How long a client may take to read the last answer and to close, before the connection is destroyed. */
const LINGER_MS = 1_000;

/** One connection to the port of the API. */
export class Connection {
  /** The responses that the client has not read, in the order of the requests, which is the order in which Node sends them. */
  private readonly waiting: ServerResponse[] = [];

  constructor(readonly socket: Socket) {
    // Node calls this after the last response. Destroying a connection with unread bytes sends a reset, which could make a client that is still
    // sending lose the answer (RFC 9112 section 9.6).
    socket.destroySoon = () => this.linger();
  }

  /** The response to the latest request. */
  get last(): ServerResponse | undefined {
    return this.waiting.at(-1);
  }

  /**
   * Whether an answer under way is the last one. Later requests are not run, answered or counted (RFC 9112 section 9.6).
   * A request with a body that it must not have is refused, and the connection closed.
   */
  get isClosing(): boolean {
    const { last } = this;
    return last !== undefined && (!last.shouldKeepAlive || last.req.readableLength > 0);
  }

  /** Adds the response to a new request. @returns whether no more of them wait than may */
  add(response: ServerResponse): boolean {
    while (this.waiting[0]?.closed) this.waiting.shift();
    return this.waiting.push(response) <= MAX_WAITING;
  }

  /** Does the work for the latest response: at once, or when the client has read the answers before it, so that one is made at a time. */
  inTurn(work: () => void): void {
    const before = this.waiting.at(-2);
    if (before === undefined || before.closed) work();
    else before.once('close', AsyncResource.bind(work));
  }

  /** Closes the connection with all its requests. */
  cut(): void {
    const { socket } = this;
    // Node makes an error for each request: their stacks would be most of the work
    const { stackTraceLimit } = Error;
    socket.prependOnceListener('close', () => (Error.stackTraceLimit = 0));
    socket.once('close', () => (Error.stackTraceLimit = stackTraceLimit));
    socket.destroy();
  }

  /** Closes the connection: at once if no answer is due, otherwise when the client has read the last answer. */
  closeWhenIdle(): void {
    const { last, socket } = this;
    if (last === undefined || last.closed) socket.destroy();
    else last.once('close', () => this.linger());
  }

  /** Ends the connection from our side, and gives the client time to read what was sent. */
  linger(): void {
    this.socket.end();
    setTimeout(() => this.socket.destroy(), LINGER_MS).unref();
  }
}

/** A socket of the API's server. */
export interface ServiceSocket extends Socket {
  connection: Connection;
}

export const connectionOf = ({ socket }: IncomingMessage): Connection =>
  (socket as ServiceSocket).connection;
