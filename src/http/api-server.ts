import { IncomingMessage, type RequestListener, Server, type ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export class Connection {
  /** The number of requests whose answer is not yet completely written. */
  waitingCount = 0;
  /** The last request. Its body may still arrive after its answer. */
  private latestRequest: IncomingMessage | undefined;

  add(response: ServerResponse): void {
    const { req: request } = response;
    this.waitingCount += 1;
    this.latestRequest = request;
    response.once('close', () => {
      this.waitingCount -= 1;
      // A request contains credentials, and its connection may stay open for long. So a complete request is forgotten
      if (request === this.latestRequest && request.complete) this.latestRequest = undefined;
    });
  }

  /** Returns false if a client, such as a gateway, would take our 400, 408 or 431 for the answer to another request. */
  get mayAnswerParserError(): boolean {
    // `GET /slow…\r\n\r\ngarbage`: the 400 would come before the answer to /slow
    const isRequestWaiting = this.waitingCount > 0;
    // `GET /docs…Transfer-Encoding: chunked\r\n\r\nzz`: after the 200, the broken chunk `zz` would get a second answer
    const isBodyArriving = this.latestRequest !== undefined && !this.latestRequest.complete;
    return !isRequestWaiting && !isBodyArriving;
  }
}

/** Node.js's HTTP server with its own requests and responses. It counts the waiting requests of each connection. */
export class ApiServer extends Server {
  readonly openConnections: ReadonlyMap<Socket, Connection>;
  /** Only requests and responses of this server have these prototypes: another server may run another application. */
  readonly requestPrototype: IncomingMessage;
  readonly responsePrototype: ServerResponse;

  constructor(options: ServerOptions, listener: RequestListener) {
    const connections = new Map<Socket, Connection>();
    class OwnRequest extends IncomingMessage {} // with a prototype of its own, to which ServerAdapter adds methods
    const OwnResponse = createResponseClass(connections);
    super({ ...options, IncomingMessage: OwnRequest, ServerResponse: OwnResponse }, listener);
    this.openConnections = connections;
    this.requestPrototype = OwnRequest.prototype;
    this.responsePrototype = OwnResponse.prototype;
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
 * Returns a class of responses that are counted as soon as they exist. A middleware would miss some: Node.js itself
 * answers `Expect: x`, and a request without Host, without calling the listener.
 */
function createResponseClass(connections: ReadonlyMap<Socket, Connection>): typeof ServerResponse {
  return class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(...parameters: [Request]) {
      super(...parameters); // Node.js passes more parameters than its types have
      connections.get(this.req.socket)?.add(this);
    }
  };
}
