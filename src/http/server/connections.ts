// The connections of the API: how many there may be, which of them are closed first, and when their bytes are read. Node.js has no limit by use.
import type { Server } from 'node:http';
import type { Metrics } from '../../telemetry/metrics.js';
import type { ServiceRequest, ServiceResponse, ServiceSocket } from '../service-request.js';

const MAX_CONNECTIONS = 10_000;
/** File descriptors that are kept free for the database, the issuer, the log and the management port. */
const RESERVED_DESCRIPTORS = 64;
/** From this share of the limit on, idle connections of strangers are closed, so that newcomers are served; that often at most, in milliseconds. */
const CROWDED = 0.9;
const SWEEP_MS = 100;
/** How long a client may take to read the last answer and to close, before the connection is destroyed. */
const LINGER_MS = 1_000;

export function guardConnections(server: Server, metrics: Metrics): void {
  const sockets = new Set<ServiceSocket>();
  const limit = connectionLimit();
  let sweptAt = 0;
  /** Closes idle connections whose last request had no valid key. */
  const makeRoom = (): void => {
    const now = performance.now();
    if (sockets.size < limit * CROWDED || now < sweptAt + SWEEP_MS) return;
    sweptAt = now;
    for (const socket of sockets) {
      const last = socket.responses.at(-1);
      if (last?.closed && !last.req.caller) socket.destroy();
    }
  };
  metrics.measure(['connections', 'Open connections on the port of the API'], (gauge) =>
    gauge.set(sockets.size),
  );
  server.maxConnections = limit;
  server.on('drop', () => {
    metrics.connectionsRefused.inc({ limit: 'connections' });
    makeRoom();
  });
  server.on('connection', (socket: ServiceSocket) => {
    if (sockets.has(socket)) return; // again, after Upgrade
    socket.responses = [];
    // Node calls this after the last response. A connection destroyed with unread bytes is reset: the client may lose the answer (RFC 9112 section 9.6)
    socket.destroySoon = () => {
      socket.end();
      setTimeout(() => socket.destroy(), LINGER_MS).unref();
    };
    // Node.js has listeners of its own, but removes them at Upgrade and CONNECT
    for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    makeRoom();
  });
  // Node treats a connection as idle when its answer was written to the socket, even while the client is still reading
  server.closeIdleConnections = () => {
    for (const socket of sockets) if (socket.responses.at(-1)?.closed ?? true) socket.destroy();
  };
}

/** Whether an answer under way is the last one. Later requests are not run, answered or counted (RFC 9112 section 9.6). */
export const isClosing = ({ responses, destroyed }: ServiceSocket): boolean =>
  destroyed || responses.at(-1)?.shouldKeepAlive === false;

/** Works when the requests before it on the connection have been answered, unless one of their answers closes it (RFC 9112 section 9.3.2). */
export function inTurn(socket: ServiceSocket, response: ServiceResponse, work: () => void): void {
  const last = socket.responses.at(-1);
  socket.responses.push(response);
  afterAnswer(last, socket, work);
}

function afterAnswer(last: ServiceResponse | undefined, socket: ServiceSocket, work: () => void) {
  if (!last || last.closed) return work();
  last.once('close', () => {
    if (last.shouldKeepAlive && !socket.destroyed) work();
  });
}

/** Ends a connection at once. A packet holds up to a thousand requests, of which Node.js's parser would read all: the value 2 stops it. */
export function cut(socket: ServiceSocket & { parser?: { onIncoming: () => number } }): void {
  socket.destroy();
  if (socket.parser) socket.parser.onIncoming = () => 2;
}

/**
 * Puts a request with Upgrade back without that header, and hands the connection to the server again: Node.js stops reading HTTP there, but a
 * server may ignore Upgrade (RFC 9110 section 7.8). Java's HttpClient sends it with each request.
 */
export function ignoreUpgrade(server: Server): void {
  server.on('upgrade', (request: ServiceRequest, socket: ServiceSocket, head: Buffer) => {
    if (isClosing(socket)) return;
    const { method, url, httpVersion, rawHeaders } = request;
    const lines = [`${method} ${url} HTTP/${httpVersion}`];
    for (let at = 0; at < rawHeaders.length; at += 2)
      if (!/^upgrade$/i.test(rawHeaders[at] ?? ''))
        lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
    const again = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    afterAnswer(socket.responses.at(-1), socket, () => {
      socket.unshift(Buffer.concat([again, head]));
      server.emit('connection', socket);
    });
  });
}

/** How many connections the process may hold. At its limit of file descriptors it could not even answer health checks. */
function connectionLimit(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const descriptors = Number(report.userLimits?.open_files?.soft) || Infinity;
  return Math.max(1, Math.min(MAX_CONNECTIONS, descriptors - RESERVED_DESCRIPTORS));
}
