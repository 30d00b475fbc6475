import type { RequestHandler, Response } from 'express';
import type { Metrics } from '../telemetry/metrics.js';
import type { Draining } from './draining.js';
import { MAX_WAITING_RESPONSES, responsesOf } from './open-responses.js';
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
    const responses = responsesOf(socket);
    // Nothing runs behind an answer that closes its connection (RFC 9112 section 9.6)
    if (responses.latest?.getHeader('Connection') === 'close') return;
    if (responses.open.size >= MAX_WAITING_RESPONSES) {
      metrics.connectionsRefused.inc({ limit: 'waiting-requests' });
      socket.destroy();
      return;
    }
    responses.open.add(response);
    responses.latest = response;
    request.context = requestLog.begin(request);
    setUsualHeaders(response, request.context.id);
    if (draining.isDraining) response.setHeader('Connection', 'close');
    response.once('close', () => {
      responses.open.delete(response);
      if (response.headersSent) requestLog.end(request, response.statusCode);
    });
    next();
  };
}

/** Whoever answers may set others. */
function setUsualHeaders(response: Response, requestId: string): void {
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
}
