// What never becomes a request is answered here: the parser's refusals, time-outs, CONNECT. Each connection gets one such answer, after those
// to the requests before it (RFC 9112 section 9.3.2), and is not read any further.
import type { Server } from 'node:http';
import { Problem } from '../../problems/problem.js';
import { type Connection, type ServiceSocket, connectionOf } from '../connection.js';
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
    socket.pause(); // what still comes stays with the kernel, and then with the client
    const problem = problemOf(error);
    // Not the parser's, such as a reset. Or no request had begun: a client that begins one now had better not take 408 for its answer
    if (!problem || (problem.slug === 'request-timeout' && socket.bytesRead === 0))
      socket.destroy();
    else refuse(connection, problem, replies);
  });
  server.on('connect', (request: ServiceRequest) => {
    const { socket } = request; // Node has let go of it
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
    // Bytes of the request itself were bad: its own answer says so
    last.shouldKeepAlive = false;
    return replies.sendProblem(last.req, last, problem);
  }
  const response = new ServiceResponse(request);
  response.shouldKeepAlive = false;
  connection.last = response;
  const send = (): void => {
    if (!connection.socket.writable) return void connection.socket.destroy();
    response.assignSocket(connection.socket);
    request.open();
    response.once('finish', () => connection.linger());
    replies.sendProblem(request, response, problem);
  };
  if (!last || last.closed) send();
  else last.once('close', send);
}

/** What the parser found, or undefined where the error is one of the connection. */
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
 * The parser counts target and headers together, and shows only the packet in which they became too many: one that holds a method and no
 * line end was still in its target. Where the target began in an earlier packet, this does not show.
 */
const isWithinRequestLine = (packet: Buffer | undefined): boolean =>
  packet !== undefined && /^[A-Z]+ [^\r\n]*$/.test(packet.toString('latin1'));
