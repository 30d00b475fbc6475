// Checks each request before the router sees it. Node's parser accepts more than RFC 9112 allows, and answers what it refuses without a body.
// The requests of a connection run one after the other: those that wait take little memory, and none runs behind an answer that closes it.
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Problem } from '../../problems/problem.js';
import type { Metrics } from '../../telemetry/metrics.js';
import type { Replies } from '../replies.js';
import {
  type ServiceRequest,
  type ServiceResponse,
  type ServiceSocket,
  isSafe,
  prepare,
  receive,
} from '../service-request.js';
import { guardConnections, inTurn, isClosing } from './connections.js';
import { BODY, framingProblem, notAllowed, parserProblem, toOriginForm } from './framing.js';

/** How many requests of a connection may wait for the end of their answers. With more it is closed. */
const MAX_WAITING = 100;

type Handler = (request: ServiceRequest, response: ServiceResponse) => void;

export function admit(server: Server, replies: Replies, metrics: Metrics, handler: Handler): void {
  guardConnections(server, metrics);
  for (const event of ['request', 'checkContinue', 'checkExpectation'])
    server.on(event, (request: ServiceRequest, response: ServiceResponse) => {
      const { socket } = request;
      if (isClosing(socket)) return;
      while (socket.responses[0]?.closed) socket.responses.shift();
      if (socket.responses.length >= MAX_WAITING) {
        metrics.connectionsRefused.inc({ limit: 'waiting-requests' });
        socket.destroy();
        // A packet holds up to a thousand requests, of which Node.js's parser would read all: the value 2 stops it
        if (socket.parser) socket.parser.onIncoming = () => 2;
        return;
      }
      receive(request);
      inTurn(socket, () => check(event, request, response), response);
    });

  function check(event: string, request: ServiceRequest, response: ServiceResponse): void {
    if (response.headersSent) return; // the parser found a fault in its body
    const { method, url = '', headers, httpVersion, hasUnreadBody } = request;
    const problem = framingProblem(request, event);
    // Where Upgrade comes with a body, Node.js reads no further request of the packet
    if (problem || httpVersion === '1.0' || headers.upgrade) response.shouldKeepAlive = false;
    if (problem) return replies.sendProblem(response, problem);
    request.url = request.originalUrl = toOriginForm(url);
    if (!hasUnreadBody || !isSafe(method)) return handler(request, response);
    // Whether a chunked body is empty is known only when its first chunk or its end has arrived
    request.once('data', () => replies.sendProblem(response, BODY));
    request.once('end', () => {
      request.hasUnreadBody = false;
      if (!response.headersSent) handler(request, response);
    });
  }

  /** The one answer to what never becomes a request, after those to earlier requests. */
  function refuse(socket: ServiceSocket, problem: Problem, request?: ServiceRequest): void {
    if (isClosing(socket)) return;
    const last = socket.responses.at(-1);
    // The fault is in a request itself, which gets its own answer
    if (last && !last.headersSent && !last.req.complete) return replies.sendProblem(last, problem);
    const response = new ServerResponse(request ?? (new IncomingMessage(socket) as ServiceRequest));
    response.shouldKeepAlive = false;
    prepare(response.req);
    receive(response.req);
    const send = (): void => {
      response.assignSocket(socket);
      response.once('finish', () => socket.destroySoon());
      replies.sendProblem(response, problem);
    };
    inTurn(socket, send, response);
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
    refuse(socket.pause(), notAllowed(), request);
  });
}
