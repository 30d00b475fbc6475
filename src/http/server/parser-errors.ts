// Answers input that never becomes a request: parser errors, time-outs, CONNECT. Each connection gets one such answer, after the answers to
// earlier requests (RFC 9112 section 9.3.2), and nothing more is read from it.
import type { Server } from 'node:http';
import { Problem } from '../../problems/problem.js';
import { type Connection, type ServiceSocket, connectionOf } from './connection.js';
import { STALLED_MS } from '../limits.js';
import { ALLOW, type Replies } from '../replies.js';
import { ServiceRequest, ServiceResponse } from '../service-request.js';

interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

export function answerParserErrors(server: Server, replies: Replies): void {
  server.on('clientError', (error: ParserError, socket: ServiceSocket) => {
    const { connection } = socket;
    socket.pause(); // further bytes stay in the kernel's buffer, and then with the client
    const problem = problemOf(error);
    // Not a parser error, such as a reset; or no request had begun: a client that sends one now must not take a 408 as its answer
    if (!problem || (problem.slug === 'request-timeout' && socket.bytesRead === 0))
      socket.destroy();
    else refuse(connection, problem, replies);
  });
  server.on('connect', (request: ServiceRequest) => {
    const { socket } = request; // Node no longer handles this socket
    socket.on('error', () => socket.destroy()).setTimeout(STALLED_MS, () => socket.destroy());
    socket.pause();
    const problem = new Problem('method-not-allowed', {
      detail: 'This service is not a proxy.',
      headers: ALLOW,
    });
    refuse(connectionOf(request), problem, replies, request);
  });
}

function refuse(
  connection: Connection,
  problem: Problem,
  replies: Replies,
  request = new ServiceRequest(connection.socket),
): void {
  if (connection.isClosing) return;
  const last = connection.last as ServiceResponse | undefined;
  if (last && !last.headersSent && !last.req.complete) {
    // The fault is in the request itself, which gets its own answer
    last.shouldKeepAlive = false;
    return replies.sendProblem(last, problem);
  }
  const response = new ServiceResponse(request);
  response.shouldKeepAlive = false;
  connection.add(response);
  const send = (): void => {
    if (!connection.socket.writable) return void connection.socket.destroy();
    response.assignSocket(connection.socket);
    request.open();
    response.once('finish', () => connection.linger());
    replies.sendProblem(response, problem);
  };
  if (!last || last.closed) send();
  else last.once('close', send);
}

/** The problem that the parser found, or undefined if the error is one of the connection. */
function problemOf({ code = '', rawPacket }: ParserError): Problem | undefined {
  if (code === 'HPE_HEADER_OVERFLOW')
    return isWithinRequestLine(rawPacket)
      ? new Problem('uri-too-long', { detail: 'The request target is too long.' })
      : new Problem('headers-too-large', {
          detail: 'The request line and the headers are too large.',
        });
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('request-timeout', { detail: 'The request did not arrive in time.' });
  if (code.startsWith('HPE_'))
    return new Problem('malformed-request', {
      detail: 'The request breaks the rules of HTTP (RFC 9112).',
    });
  return undefined;
}

/**
 * The parser counts target and headers together, and shows only the packet in which the limit was exceeded. A packet with a method and
 * without a line end was still in the target. If the target began in an earlier packet, this cannot be seen.
 */
const isWithinRequestLine = (packet: Buffer | undefined): boolean =>
  packet !== undefined && /^[A-Z]+ [^\r\n]*$/.test(packet.toString('latin1'));
