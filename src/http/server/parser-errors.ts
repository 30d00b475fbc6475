// What never becomes a request is answered here, on the bare socket: the parser's refusals, time-outs, CONNECT.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../../problems/problem.js';
import type { ProblemRenderer } from '../../problems/problem-details.js';
import type { ServiceSocket } from './admission.js';
import type { Replies } from '../replies.js';

interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/** How long a client may take to read the last answer before the connection is cut. */
const LINGER_MS = 1_000;

export function answerParserErrors(
  server: Server,
  problems: ProblemRenderer,
  replies: Replies,
): void {
  server.on('clientError', (error: ParserError, socket: ServiceSocket) => {
    const problem = problemOf(error);
    const refuse = (): void =>
      socket.writable && error.code !== 'ECONNRESET'
        ? end(socket, problems.bytes(problem))
        : void socket.destroy();
    const { lastResponse: last } = socket;
    // No request had begun: there is nothing to answer, and a client that begins one now had better not take 408 for its answer
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0)
      return void socket.destroy();
    // More of what was refused already: cutting the connection now would take the answer away from the client
    if (socket.writableEnded && error.code !== 'ECONNRESET') return;
    if (!last || last.destroyed) return refuse();
    if (!last.shouldKeepAlive && last.headersSent) return; // it was the last one: the connection closes after it
    // Bytes of the request itself were bad: its own answer says so, in its turn
    if (!last.req.complete && !last.headersSent) return replies.problem(last.req, last, problem);
    // Requests before the bad one are answered first (RFC 9112 section 9.3.2)
    if (last.writableFinished) refuse();
    else last.once('close', refuse);
  });
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    end(
      socket,
      problems.bytes(
        new Problem('method-not-allowed', {
          detail: 'This service is not a proxy.',
          headers: ['Allow', 'GET, HEAD, OPTIONS'],
        }),
      ),
    );
  });
}

function end(socket: Socket, bytes: Buffer): void {
  socket.on('error', () => socket.destroy());
  socket.end(bytes);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function problemOf({ code, rawPacket }: ParserError): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return isWithinRequestLine(rawPacket)
        ? new Problem('uri-too-long', { detail: 'The request target is too long.', close: true })
        : new Problem('headers-too-large', {
            detail: 'The request line and the headers are too large.',
            close: true,
          });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', {
        detail: 'The request did not arrive in time.',
        close: true,
      });
    default:
      return new Problem('malformed-request', {
        detail: 'The request breaks the rules of HTTP (RFC 9112).',
        close: true,
      });
  }
}

/**
 * The parser counts target and headers together, and shows only the packet in which they became too many: one that holds a method and no
 * line end was still in its target. Where the target began in an earlier packet, this does not show.
 */
const isWithinRequestLine = (packet: Buffer | undefined): boolean =>
  packet !== undefined && /^[A-Z]+ [^\r\n]*$/.test(packet.toString('latin1'));
