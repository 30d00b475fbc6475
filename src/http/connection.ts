import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long a client may take to read the last answer, and to close, before the connection is cut. */
const LINGER_MS = 1_000;

/** One connection to the port of the API. */
export class Connection {
  /** The response to the latest request. Node sends the responses of a connection in the order of its requests. */
  last: ServerResponse | undefined = undefined;
  /** Whether a request on it has shown a valid API key. */
  isKnown = false;
  /** Whether there was no room for it: its requests are answered 503. */
  isTurnedAway = false;

  constructor(
    readonly socket: Socket,
    private readonly onKnown: (connection: Connection) => void,
  ) {
    // Node calls this after the last response. A reset, which is what destroying a connection with unread bytes makes, could take the answer away
    // from a client that is still sending (RFC 9112 section 9.6).
    socket.destroySoon = () => this.linger();
  }

  /**
   * Whether an answer under way is the last one. Whatever arrives behind it is neither run, answered nor counted (RFC 9112 section 9.6).
   * A request that should have no body, but has one, will be refused and the connection closed.
   */
  get isClosing(): boolean {
    const { last } = this;
    return last !== undefined && (!last.shouldKeepAlive || last.req.readableLength > 0);
  }

  becomeKnown(): void {
    if (this.isKnown) return;
    this.isKnown = true;
    this.onKnown(this);
  }

  /** Closes the connection at once where nothing is to be answered, else as soon as the client has taken the last answer. */
  closeWhenIdle(): void {
    const { last, socket } = this;
    if (last === undefined || last.closed) socket.destroy();
    else last.once('close', () => this.linger());
  }

  /** Ends the connection from this side, and leaves the client a moment to read what was sent. */
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
