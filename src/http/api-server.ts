import { type IncomingMessage, type RequestListener, Server, type ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export class Connection {
  /** The number of requests whose answer is not completely written. */
  waitingCount = 0;
  /** The last request. Its body may still arrive after its answer. */
  private latestRequest: IncomingMessage | undefined;

  add(response: ServerResponse): void {
    const { req: request } = response;
    this.waitingCount += 1;
    this.latestRequest = request;
    response.once('close', () => {
      this.waitingCount -= 1;
      // A complete request is forgotten, because it contains credentials, and the connection may stay open for long
      if (request === this.latestRequest && request.complete) this.latestRequest = undefined;
    });
  }

  /**
   * Returns whether bytes that the parser refuses may be answered. A gateway may send requests of several callers over
   * one connection. It would take a surplus answer for the answer to its next request. So there are two rules:
   *
   * 1. No earlier request waits. `GET /slow…\r\n\r\ngarbage`: the client would take our 400 for the answer to /slow.
   * 2. The bytes are not the body of a request that has its answer. After `GET /docs…Transfer-Encoding: chunked\r\n\r\n`
   *    the client gets its 200. If it then sends `zz\r\n`, which is no chunk, a 400 would be a second answer.
   */
  get isAnswerDue(): boolean {
    const isBody = this.latestRequest !== undefined && !this.latestRequest.complete;
    return this.waitingCount === 0 && !isBody;
  }
}

/** Node.js's HTTP server, which also knows the requests that wait on each open connection. */
export class ApiServer extends Server {
  readonly openConnections: ReadonlyMap<Socket, Connection>;

  constructor(options: ServerOptions, listener: RequestListener) {
    const connections = new Map<Socket, Connection>();
    super({ ...options, ServerResponse: createCountedResponse(connections) }, listener);
    this.openConnections = connections;
    this.on('connection', (socket: Socket) => {
      connections.set(socket, new Connection());
      socket.once('close', () => connections.delete(socket));
    });
  }

  get isAnswering(): boolean {
    return [...this.openConnections.values()].some(({ waitingCount }) => waitingCount > 0);
  }
}

/**
 * Returns a class of responses that are counted as soon as they exist. A middleware would be too late: Node.js itself
 * answers `Expect: x`, and a request without Host, before it calls the listener.
 */
function createCountedResponse(connections: ReadonlyMap<Socket, Connection>): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(...parameters: [Request]) {
      super(...parameters); // Node.js passes more parameters than its types have
      connections.get(this.req.socket)?.add(this);
    }
  };
}
