import { type RequestListener, Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { responsesOf } from './open-responses.js';

/** Node.js's HTTP server, which also knows its open connections. */
export class ApiServer extends Server {
  readonly openSockets = new Set<Socket>();

  constructor(options: ServerOptions, listener: RequestListener) {
    super(options, listener);
    this.on('connection', (socket: Socket) => this.track(socket));
  }

  /**
   * Node.js calls this when the port closes. It takes a connection for idle as soon as its answer is written, which
   * would cut an answer that the client is still reading.
   */
  override closeIdleConnections(): void {
    for (const socket of this.openSockets) {
      const isIdle = responsesOf(socket).open.size === 0;
      if (isIdle) socket.destroy();
    }
  }

  private track(socket: Socket): void {
    keepAddress(socket);
    this.openSockets.add(socket);
    socket.once('close', () => this.openSockets.delete(socket));
  }
}

/** Node.js keeps the address once it was read. After a reset it can no longer be had, and the log wants it. */
function keepAddress(socket: Socket): void {
  void socket.remoteAddress;
}
