// The connections of the API's server. Node's own limits do most; limits of strangers belong in front of the service (deploy/nginx).
import type { Server } from 'node:http';
import { type Metrics, measureOnScrape } from '../../telemetry/metrics.js';
import type { ServiceResponse, ServiceSocket } from '../service-request.js';

const MAX_CONNECTIONS = 10_000;
/** File descriptors that are kept free for the database, the issuer, the log and the management port. */
const RESERVED_DESCRIPTORS = 64;
/** How many requests of a connection may wait for the end of their answers: each takes memory and time. With more it is closed. */
const MAX_WAITING = 100;
/** How long a client may take to read the last answer and to close, before the connection is destroyed. */
const LINGER_MS = 1_000;

/** Counts the connections of the server, and limits them. */
export function guardConnections(server: Server, metrics: Metrics): void {
  const { connections, connectionsRefused } = metrics;
  const sockets = new Set<ServiceSocket>();
  measureOnScrape(connections, () => connections.set(sockets.size));
  server.maxConnections = connectionLimit();
  server.on('drop', () => connectionsRefused.inc({ limit: 'connections' }));
  server.on('connection', (socket: ServiceSocket) => {
    socket.responses = [];
    // Node calls this after the last response. Destroying a connection with unread bytes sends a reset, which could make a client that is still
    // sending lose the answer (RFC 9112 section 9.6).
    socket.destroySoon = () => {
      socket.end();
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    };
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Node treats a connection as idle when its answer was written to the socket, even while the client is still reading
  server.closeIdleConnections = () => {
    for (const socket of sockets) if (socket.responses.at(-1)?.closed ?? true) socket.destroy();
  };
}

/** Adds the response to a new request. @returns whether no more of them wait than may */
export function mayWait({ responses }: ServiceSocket, response: ServiceResponse): boolean {
  while (responses[0]?.closed) responses.shift();
  return responses.push(response) <= MAX_WAITING;
}

/** Whether an answer under way is the last one. Later requests are not run, answered or counted (RFC 9112 section 9.6). */
export function isClosing({ responses, destroyed }: ServiceSocket): boolean {
  const last = responses.at(-1);
  // A body that has begun is refused, and the connection closed
  return destroyed || last?.shouldKeepAlive === false || (last?.req.readableLength ?? 0) > 0;
}

/** How many connections the process may hold. At its limit of file descriptors it could not even answer health checks. */
function connectionLimit(): number {
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft: number | 'unlimited' } };
  };
  const descriptors = Number(userLimits?.open_files?.soft) || Infinity;
  return Math.max(1, Math.min(MAX_CONNECTIONS, descriptors - RESERVED_DESCRIPTORS));
}
