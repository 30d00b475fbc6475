import { STATUS_CODES, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../problems/limits.js';
import { Problem, malformed } from '../problems/problem.js';
import { responsesOf } from './open-responses.js';
import type { RequestLog } from './request-log.js';

/** Answers what never becomes a request with a problem document. Node.js would answer it without one. */
export function answerParserErrors(
  server: Server,
  requestLog: RequestLog,
  baseAddress: string,
): void {
  const send = (socket: Socket, problem: Problem): void => {
    if (!socket.writable) return;
    const context = requestLog.begin({ headers: {} });
    context.problem = problem.slug;
    const { status, headers, body } = problem.render(context.id, baseAddress);
    const usual = { 'X-Request-Id': context.id, Date: new Date().toUTCString() };
    const fields = { ...usual, ...headers, Connection: 'close' };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`;
    socket.end(head + body, () => socket.destroy());
    requestLog.end({ context, headers: {}, socket }, status);
  };
  const refused = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (refused.has(socket)) return; // further bytes behind the first error
    refused.add(socket);
    socket.pause(); // further bytes stay with the client
    const problem = problemOf(error);
    // Nothing was asked on a connection that stayed silent: a client that begins now must not take 408 as its answer
    const isSilent = socket.bytesRead === 0;
    if (!problem || isSilent) socket.destroy();
    else endAfterAnswers(socket, () => send(socket, problem));
  });
}

/** The answers to earlier requests come first. If the error is in the body of the last request, it has one answer. */
function endAfterAnswers(socket: Socket, send: () => void): void {
  const { open, latest } = responsesOf(socket);
  const end = (): void => {
    if (latest && latest.headersSent && !latest.req.complete) socket.destroySoon();
    else send();
  };
  if (latest && open.has(latest)) latest.once('close', end);
  else end();
}

/** Undefined if no answer can be sent, such as after a reset. */
function problemOf({ code = '' }: NodeJS.ErrnoException): Problem | undefined {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem('headers-too-large', {
      detail: `The headers have more than ${LIMITS.headers}.`,
    });
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('request-timeout', { detail: 'The request did not arrive in time.' });
  if (!code.startsWith('HPE_')) return undefined;
  return malformed('The request breaks the rules of HTTP (RFC 9112).');
}
