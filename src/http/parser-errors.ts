import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { LIMITS } from '../problems/limits.js';
import { Problem, malformed } from '../problems/problem.js';
import { responsesOf } from './open-responses.js';
import { RequestLog } from './request-log.js';

/** Answers what never becomes a request with a problem document. Node.js would answer it without a body. */
@Injectable()
export class ParserErrors {
  /** Connections with an error, which are about to be closed. */
  private readonly closing = new WeakSet<Socket>();

  constructor(
    private readonly requestLog: RequestLog,
    private readonly configuration: Configuration,
  ) {}

  /** Takes the event `clientError` of the server. */
  handle(error: NodeJS.ErrnoException, socket: Socket): void {
    if (this.closing.has(socket)) return; // the bytes behind the first error are errors, too
    this.closing.add(socket);
    socket.pause(); // further bytes stay with the client
    const problem = problemOf(error);
    // Nothing was asked on a connection that stayed silent: a client that begins now must not take 408 as its answer
    const isSilent = socket.bytesRead === 0;
    if (!problem || isSilent) {
      socket.destroy();
      return;
    }
    this.answerLast(socket, problem);
  }

  /** The answers to earlier requests on the connection come first. */
  private answerLast(socket: Socket, problem: Problem): void {
    const { open, latest } = responsesOf(socket);
    if (latest && open.has(latest)) latest.once('close', () => this.answerOnce(socket, problem));
    else this.answerOnce(socket, problem);
  }

  /** An error in the body of the last request adds no second answer to it. */
  private answerOnce(socket: Socket, problem: Problem): void {
    const { latest } = responsesOf(socket);
    const isAnswered = latest !== undefined && latest.headersSent && !latest.req.complete;
    if (isAnswered) socket.destroySoon();
    else this.send(socket, problem);
  }

  private send(socket: Socket, problem: Problem): void {
    if (!socket.writable) return;
    const context = this.requestLog.begin({ headers: {} });
    context.problem = problem.slug;
    const { status, headers, body } = problem.render(context.id, this.configuration.baseAddress);
    const fields = {
      'X-Request-Id': context.id,
      Date: new Date().toUTCString(),
      ...headers,
      Connection: 'close',
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`;
    socket.end(head + body, () => socket.destroy());
    this.requestLog.end({ context, headers: {}, socket }, status);
  }
}

/** Undefined if no answer can be sent, such as after a reset. */
function problemOf({ code = '' }: NodeJS.ErrnoException): Problem | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = `The request target and the headers together have more than ${LIMITS.head}.`;
    return new Problem('headers-too-large', { detail });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Problem('request-timeout', { detail: 'The request did not arrive in time.' });
  }
  if (!code.startsWith('HPE_')) return undefined; // HPE_… are the codes of Node.js's parser
  return malformed('The request breaks the rules of HTTP (RFC 9112).');
}
