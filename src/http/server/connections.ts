// The connections of the API: how many there may be, which are closed first, and when their requests run. Node.js has no limit by use.
import type { Server } from 'node:http';
import type { Metrics } from '../../telemetry/metrics.js';
import type { ServiceRequest, ServiceResponse, ServiceSocket } from '../service-request.js';

const MAX_CONNECTIONS = 10_000;
/** For the database, the issuer, the log and the management port: without a descriptor not even health checks are answered. */
const RESERVED_DESCRIPTORS = 64;
/** From this share of the limit on, idle connections of strangers are closed, so that newcomers are served; looked at that often, in milliseconds. */
const CROWDED = 0.9;
const SWEEP_MS = 100;
const LINGER_MS = 1_000;

export function guardConnections(server: Server, metrics: Metrics): void {
  const sockets = new Set<ServiceSocket>();
  /** Closes idle connections: all, or those whose last request had no valid key. */
  const closeIdle = (areAll: boolean): void => {
    for (const socket of sockets) {
      const last = socket.responses.at(-1);
      if (last ? last.closed && (areAll || !last.req.caller) : areAll) socket.destroy();
    }
  };
  metrics.addGauge({
    name: 'connections',
    help: 'Open connections on the port of the API',
    collect: (gauge) => gauge.set(sockets.size),
  });
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const descriptors = Number(report.userLimits?.open_files?.soft) || Infinity;
  const limit = Math.max(1, Math.min(MAX_CONNECTIONS, descriptors - RESERVED_DESCRIPTORS));
  server.maxConnections = limit;
  server.on('drop', () => metrics.connectionsRefused.inc({ limit: 'connections' }));
  setInterval(() => {
    if (sockets.size >= limit * CROWDED) closeIdle(false);
  }, SWEEP_MS).unref();
  server.on('connection', (socket: ServiceSocket) => {
    if (sockets.has(socket)) return; // again, after Upgrade
    prepareConnection(socket);
    // Node.js has listeners of its own, but removes them at Upgrade and CONNECT
    for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy());
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // Node treats a connection as idle when its answer was written to the socket, even while the client is still reading
  server.closeIdleConnections = () => closeIdle(true);
  ignoreUpgrade(server);
}

/** Gives a connection its fields, on both ports (see `prepare` of a request). */
export function prepareConnection(socket: ServiceSocket): void {
  socket.responses = [];
  // Node calls this after the last response. A connection destroyed with unread bytes is reset: the client may lose the answer (RFC 9112 section 9.6)
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

/** Whether an answer under way is the last one. Later requests are not run, answered or counted (RFC 9112 section 9.6). */
export const isClosing = ({ responses, destroyed }: ServiceSocket): boolean =>
  destroyed || responses.at(-1)?.shouldKeepAlive === false;

/** Works when the requests before it on the connection have been answered, unless one of their answers closes it (RFC 9112 section 9.3.2). */
export function inTurn(socket: ServiceSocket, work: () => void, response?: ServiceResponse): void {
  const last = socket.responses.at(-1);
  if (response) socket.responses.push(response);
  if (!last || last.closed) return work();
  last.once('close', () => {
    if (last.shouldKeepAlive && !socket.destroyed) work();
  });
}

// Java's HttpClient sends Upgrade with each request. A server may ignore it (RFC 9110 section 7.8), but Node.js stops reading HTTP there: so the
// request is put back without that header.
function ignoreUpgrade(server: Server): void {
  server.on('upgrade', (request: ServiceRequest, socket: ServiceSocket, head: Buffer) => {
    if (isClosing(socket)) return;
    const { method, url, httpVersion, rawHeaders } = request;
    const lines = [`${method} ${url} HTTP/${httpVersion}`];
    for (let at = 0; at < rawHeaders.length; at += 2)
      if (!/^upgrade$/i.test(rawHeaders[at] ?? ''))
        lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
    const again = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    inTurn(socket, () => {
      socket.unshift(Buffer.concat([again, head]));
      server.emit('connection', socket);
    });
  });
}
