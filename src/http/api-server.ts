import { type RequestListener, Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Connection } from './connection.js';

/** Node.js's HTTP server, which also knows what goes on on each of its connections. */
export class ApiServer extends Server {
  private readonly openConnections = new Set<Connection>();
  private readonly connectionsBySocket = new WeakMap<Socket, Connection>();

  constructor(options: ServerOptions, listener: RequestListener) {
    super(options, listener);
    this.on('connection', (socket: Socket) => this.track(socket));
  }

  get openConnectionCount(): number {
    return this.openConnections.size;
  }

  /** @throws Error if the socket is none of this server's */
  connectionOf(socket: Socket): Connection {
    const connection = this.connectionsBySocket.get(socket);
    if (!connection) throw new Error('The socket was not accepted by this server.');
    return connection;
  }

  /**
   * Node.js calls this method when the port closes. Node.js's own method takes a connection for idle as soon as its
   * answer is written, which would cut an answer that the client is still reading.
   */
  override closeIdleConnections(): void {
    for (const connection of this.openConnections) {
      if (connection.isIdle) connection.socket.destroy();
    }
  }

  private track(socket: Socket): void {
    const connection = new Connection(socket);
    this.connectionsBySocket.set(socket, connection);
    this.openConnections.add(connection);
    socket.once('close', () => this.openConnections.delete(connection));
  }
}
