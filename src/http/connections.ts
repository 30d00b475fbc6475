import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { responsesOf } from './open-responses.js';

/**
 * Gives the open connections of a server, and has idle ones closed with the server. Node.js takes a connection for idle
 * as soon as its answer is written, which would cut an answer that the client is still reading.
 */
export function trackConnections(server: Server): ReadonlySet<Socket> {
  const connections = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections.add(socket);
    void socket.remoteAddress; // Node.js keeps it once it was read; after a reset it is lost, and the log wants it
    socket.once('close', () => connections.delete(socket));
  });
  server.closeIdleConnections = () => {
    for (const socket of connections) if (responsesOf(socket).open.size === 0) socket.destroy();
  };
  return connections;
}
