import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { LIMITS } from '../problems/limits.js';
import { Problem, type ProblemResponse } from '../problems/problem.js';
import type { ApiServer } from './api-server.js';
import { type RequestContext, RequestLog } from './request-log.js';

/** Closes a connection after an error, if possible with a problem document. Node.js's own answer would have no body. */
@Injectable()
export class ParserErrors {
  private readonly logger = new Logger(ParserErrors.name);

  constructor(
    private readonly requestLog: RequestLog,
    private readonly configuration: Configuration,
  ) {}

  handle(error: NodeJS.ErrnoException, socket: Socket, server: ApiServer): void {
    socket.pause(); // otherwise Node.js emits `clientError` again for each further packet
    // True if, for example, `garbage\r\n\r\n` came in two packets, and the first packet has been answered
    const hasAnswer = !socket.writable;
    // True after `GET / … Connection: close\r\n\r\nGET / …`: the answer to the first request closes the connection
    const isAfterLastRequest = error.code === 'HPE_CLOSED_CONNECTION';
    if (hasAnswer || isAfterLastRequest) return;

    const problem = describeParserError(error);
    // If no byte has arrived, we send no 408: the first request may be on its way, and would seem to get this answer
    const isSilent = socket.bytesRead === 0;
    const mayAnswer = !isSilent && server.openConnections.get(socket)?.mayAnswerParserError;
    if (problem && mayAnswer) {
      this.answer(problem, socket);
      return;
    }
    this.logger.debug({ message: 'connection closed', reason: error.code });
    socket.destroy();
  }

  private answer(problem: Problem, socket: Socket): void {
    const context: RequestContext = { id: randomUUID(), peer: socket.remoteAddress, problem: problem.slug };
    const response = problem.render(context.id, this.configuration.baseAddress);
    socket.end(formatMessage(response, context.id), () => socket.destroy()); // `end` closes only one direction
    this.requestLog.end({ context }, response.status);
  }
}

/** Returns an HTTP/1.1 message (RFC 9112 section 2.1). Without a request Node.js makes no ServerResponse. */
function formatMessage({ status, headers, body }: ProblemResponse, requestId: string): string {
  const fields = {
    'X-Request-Id': requestId,
    Date: new Date().toUTCString(),
    ...headers,
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}

/** Returns the problem for an error of Node.js's server; undefined after a reset, when nobody can read an answer. */
function describeParserError({ code = '' }: NodeJS.ErrnoException): Problem | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const detail = `The request target and the headers together have more than ${LIMITS.headers}.`;
    return new Problem('headers-too-large', { detail });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Problem('request-timeout', { detail: 'The request did not arrive in time.' });
  }
  const isOfParser = code.startsWith('HPE_');
  if (!isOfParser) return undefined;
  const detail = 'The request breaks the rules of HTTP (RFC 9112), or has a method that the service does not know.';
  return new Problem('malformed-request', { detail });
}
