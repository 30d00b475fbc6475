import type { ServerResponse } from 'node:http';
import type { RequestHandler, Response } from 'express';
import type { Metrics } from '../telemetry/metrics.js';
import type { Draining } from './draining.js';
import { MAX_WAITING_RESPONSES, openResponsesOf } from './open-responses.js';
import type { RequestLog } from './request-log.js';

export interface RequestContextOptions {
  readonly requestLog: RequestLog;
  readonly draining: Draining;
  readonly metrics: Metrics;
}

/** The first middleware: gives a request its context, and has it logged and counted when its response has ended. */
export function requestContext(options: RequestContextOptions): RequestHandler {
  const { requestLog, draining, metrics } = options;
  return (request, response, next) => {
    const { socket } = request;
    const openResponses = openResponsesOf(socket);
    if (isClosing(openResponses)) return;
    if (openResponses.size >= MAX_WAITING_RESPONSES) {
      metrics.connectionsRefused.inc({ limit: 'waiting-requests' });
      socket.destroy();
      return;
    }
    openResponses.add(response);
    request.context = requestLog.begin(request);
    setUsualHeaders(response, request.context.id);
    if (draining.isDraining) response.setHeader('Connection', 'close');
    response.once('close', () => {
      openResponses.delete(response);
      if (response.headersSent) requestLog.end(request, response.statusCode);
    });
    next();
  };
}

/** Nothing runs behind an answer that closes its connection (RFC 9112 section 9.6). */
function isClosing(openResponses: ReadonlySet<ServerResponse>): boolean {
  for (const response of openResponses)
    if (response.getHeader('Connection') === 'close') return true;
  return false;
}

/** Whoever answers may set others. */
function setUsualHeaders(response: Response, requestId: string): void {
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
}
