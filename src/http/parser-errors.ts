import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { LIMITS } from '../problems/limits.js';
import { Problem, type ProblemResponse } from '../problems/problem.js';
import type { Connection } from './connection.js';
import type { RequestContext } from './request-context.js';
import { RequestLog } from './request-log.js';

/**
 * Answers bytes that never become a request with a problem document, and closes their connection. Node.js would answer
 * such bytes without a body.
 */
@Injectable()
export class ParserErrors {
  constructor(
    private readonly requestLog: RequestLog,
    private readonly configuration: Configuration,
  ) {}

  /** Handles the server's event `clientError`, which Node.js emits for every piece of bytes behind an error, too. */
  handle(error: NodeJS.ErrnoException, connection: Connection): void {
    if (connection.hasFailed) return;
    connection.fail();
    const problem = problemOf(error);
    if (!problem) {
      connection.socket.destroy();
      return;
    }
    // A client that sent nothing has asked for nothing. If it began now, it would take a 408 for the answer
    const isSilent = connection.socket.bytesRead === 0;
    if (isSilent) {
      connection.socket.destroy();
      return;
    }
    // Answers keep the order of the requests
    connection.whenLatestClosed(() => this.answer(problem, connection));
  }

  private answer(problem: Problem, connection: Connection): void {
    const { socket } = connection;
    // The error is in the body of a request that has its answer already: a request has one answer
    if (connection.isLatestResponseEarly) {
      socket.destroySoon();
      return;
    }
    if (!socket.writable) return;
    const context = contextOf(connection);
    context.problem = problem.slug;
    const response = problem.render(context.id, this.configuration.baseAddress);
    socket.end(messageOf(response, context.id), () => socket.destroy());
    this.requestLog.end({ context }, response.status);
  }
}

/** The error is of the connection's first request, or of a later one whose begin Node.js does not tell. */
function contextOf(connection: Connection): RequestContext {
  const startedAtMs = connection.hasRequest ? undefined : connection.acceptedAtMs;
  return { id: randomUUID(), connection, startedAtMs };
}

/** An HTTP/1.1 message (RFC 9112 section 2.1). Without a request Node.js has no ServerResponse to write it. */
function messageOf({ status, headers, body }: ProblemResponse, requestId: string): string {
  const fields = {
    'X-Request-Id': requestId,
    Date: new Date().toUTCString(),
    ...headers,
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

/** The problem that an error of Node.js's server means, or undefined if nobody can read an answer, as after a reset. */
function problemOf({ code = '' }: NodeJS.ErrnoException): Problem | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = `The request target and the headers together have more than ${LIMITS.head}.`;
    return new Problem('headers-too-large', { detail });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Problem('request-timeout', { detail: 'The request did not arrive in time.' });
  }
  const isOfParser = code.startsWith('HPE_');
  if (!isOfParser) return undefined;
  return new Problem('malformed-request', {
    detail: 'The request breaks the rules of HTTP (RFC 9112).',
  });
}
