import { type IncomingMessage, type RequestListener, Server, type ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A connection of a client, with what it waits for. */
export class Connection {
  /** How many requests have no whole answer yet. */
  waitingCount = 0;
  /** The request whose body may still arrive. Undefined where nothing needs to be known of it. */
  private latestRequest: IncomingMessage | undefined;

  add(response: ServerResponse): void {
    const { req: request } = response;
    this.waitingCount += 1;
    this.latestRequest = request;
    response.once('close', () => {
      this.waitingCount -= 1;
      // It holds credentials, and the connection may stay quiet for long
      if (request === this.latestRequest && request.complete) this.latestRequest = undefined;
    });
  }

  /**
   * Whether the bytes that come belong to a request that has no answer, and no other one waits: only then an answer is
   * one that was asked for. Otherwise a gateway could take it for the answer to its next request.
   */
  get isAnswerDue(): boolean {
    const isBody = this.latestRequest !== undefined && !this.latestRequest.complete;
    return this.waitingCount === 0 && !isBody;
  }
}

/** Node.js's HTTP server, which also knows what its open connections wait for. */
export class ApiServer extends Server {
  readonly openConnections: ReadonlyMap<Socket, Connection>;

  constructor(options: ServerOptions, listener: RequestListener) {
    const connections = new Map<Socket, Connection>();
    super({ ...options, ServerResponse: countedResponse(connections) }, listener);
    this.openConnections = connections;
    this.on('connection', (socket: Socket) => {
      connections.set(socket, new Connection());
      socket.once('close', () => connections.delete(socket));
    });
  }

  /** Whether a client is still to read an answer, or a part of one. */
  get isAnswering(): boolean {
    return [...this.openConnections.values()].some(({ waitingCount }) => waitingCount > 0);
  }
}

/** The class of the responses, which count from their begin, also where Node.js itself answers (Expect, no Host). */
function countedResponse(connections: ReadonlyMap<Socket, Connection>): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(...parameters: [Request]) {
      super(...parameters); // Node.js gives more of them than its types say
      connections.get(this.req.socket)?.add(this);
    }
  };
}
