// Checks each request before the router sees it. Node's parser accepts more than RFC 9112 allows, and answers what it refuses without a body:
// both are corrected here. No request behind an answer that closes its connection may run, so that is decided when a request arrives.
import { type Server, ServerResponse } from 'node:http';
import type { Problem } from '../../problems/problem.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { NOT_ALLOWED, type Replies } from '../replies.js';
import { ServiceRequest, type ServiceResponse, type ServiceSocket } from '../service-request.js';
import { BODY, framingProblem, isBodiless, parserProblem, toOriginForm } from './framing.js';

const MAX_CONNECTIONS = 10_000;
/** File descriptors that are kept free for the database, the issuer, the log and the management port. */
const RESERVED_DESCRIPTORS = 64;
/** How many requests of a connection may wait for the end of their answers: each takes memory and time. With more it is closed. */
const MAX_WAITING = 100;
/** How long a client may take to read the last answer and to close, before the connection is destroyed. */
const LINGER_MS = 1_000;

type Handler = (request: ServiceRequest, response: ServiceResponse) => void;

export function guard(server: Server, replies: Replies, metrics: Metrics, handler: Handler): void {
  guardConnections(server, metrics);
  for (const event of ['request', 'checkContinue', 'checkExpectation'])
    server.on(event, (request: ServiceRequest, response: ServiceResponse) => {
      const { socket, method, httpVersion } = request;
      if (isClosing(socket)) return;
      while (socket.responses[0]?.closed) socket.responses.shift();
      if (socket.responses.push(response) > MAX_WAITING) {
        metrics.connectionsRefused.inc({ limit: 'waiting-requests' });
        return void socket.destroy();
      }
      request.open();
      const isChunked = request.field('transfer-encoding') !== undefined;
      const hasBody = isChunked || Number(request.field('content-length') ?? 0) > 0;
      const problem = framingProblem(request, event);
      // An expectation announces a body. Without 100 (Continue) it is unknown whether it follows. Behind Upgrade Node.js reads no further request
      const isUpgrade = request.field('upgrade') !== undefined;
      const mayBeFollowed = event === 'request' && (!hasBody || isBodiless(method)) && !isUpgrade;
      if (problem || !mayBeFollowed || httpVersion === '1.0') response.shouldKeepAlive = false;
      if (problem) return replies.sendProblem(response, problem);
      request.url = toOriginForm(request.url ?? '');
      if (!isChunked || !isBodiless(method)) return handler(request, response);
      // Whether a chunked body is empty is known only when its first chunk or its end has arrived
      request.once('data', () => {
        response.shouldKeepAlive = false;
        replies.sendProblem(response, BODY);
      });
      request.once('end', () => {
        if (!response.headersSent) handler(request, response);
      });
    });

  /** The one answer to what never becomes a request, after those to earlier requests (RFC 9112 section 9.3.2). */
  function refuse(socket: ServiceSocket, problem: Problem, request?: ServiceRequest): void {
    if (isClosing(socket)) return;
    const last = socket.responses.at(-1);
    if (last && !last.headersSent && !last.req.complete) {
      // The fault is in the request itself, which gets its own answer
      last.shouldKeepAlive = false;
      return replies.sendProblem(last, problem);
    }
    const response = new ServerResponse(request ?? new ServiceRequest(socket));
    response.shouldKeepAlive = false;
    socket.responses.push(response);
    const send = (): void => {
      if (!socket.writable) return;
      response.assignSocket(socket);
      response.req.open();
      response.once('finish', () => socket.destroySoon());
      replies.sendProblem(response, problem);
    };
    if (!last || last.closed) send();
    else last.once('close', send);
  }
  server.on('clientError', (error: Error, socket: ServiceSocket) => {
    socket.pause(); // further bytes stay in the kernel's buffer, and then with the client
    const problem = parserProblem(error);
    // Not a parser error, such as a reset; or no request had begun: a client that sends one now must not take a 408 as its answer
    if (!problem || (problem.slug === 'request-timeout' && socket.bytesRead === 0))
      socket.destroy();
    else refuse(socket, problem);
  });
  server.on('connect', (request: ServiceRequest, socket: ServiceSocket) => {
    socket.on('error', () => socket.destroy()).setTimeout(server.timeout, () => socket.destroy());
    refuse(socket.pause(), NOT_ALLOWED, request);
  });
}

function guardConnections(server: Server, metrics: Metrics): void {
  const { connectionsRefused } = metrics;
  const sockets = new Set<ServiceSocket>();
  metrics.measure(['connections', 'Open connections on the port of the API'], (gauge) =>
    gauge.set(sockets.size),
  );
  server.maxConnections = connectionLimit();
  server.on('drop', () => connectionsRefused.inc({ limit: 'connections' }));
  server.on('connection', (socket: ServiceSocket) => {
    socket.responses = [];
    // Node calls this after the last response. A connection destroyed with unread bytes is reset: the client may lose the answer (RFC 9112 section 9.6)
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

/** Whether an answer under way is the last one. Later requests are not run, answered or counted (RFC 9112 section 9.6). */
function isClosing({ responses, destroyed }: ServiceSocket): boolean {
  const last = responses.at(-1);
  // A body that has begun is refused, and the connection closed
  return destroyed || last?.shouldKeepAlive === false || (last?.req.readableLength ?? 0) > 0;
}

/** How many connections the process may hold. At its limit of file descriptors it could not even answer health checks. */
function connectionLimit(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  const descriptors = Number(report.userLimits?.open_files?.soft) || Infinity;
  return Math.max(1, Math.min(MAX_CONNECTIONS, descriptors - RESERVED_DESCRIPTORS));
}
