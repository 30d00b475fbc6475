import type { RequestHandler, Response } from 'express';
import type { Metrics } from '../telemetry/metrics.js';
import type { ApiServer } from './api-server.js';
import type { Draining } from './draining.js';
import type { RequestLog } from './request-log.js';

export interface RequestContextOptions {
  readonly server: ApiServer;
  readonly requestLog: RequestLog;
  readonly draining: Draining;
  readonly metrics: Metrics;
}

/** The first middleware: gives a request its context, and has it logged and counted when its response is closed. */
export function requestContext(options: RequestContextOptions): RequestHandler {
  const { server, requestLog, draining, metrics } = options;
  return (request, response, next) => {
    const connection = server.connectionOf(request.socket);
    if (connection.isClosedByLatestResponse) return; // the request is never run, and never answered
    if (connection.isFull) {
      metrics.connectionsRefused.inc({ limit: 'waiting-requests' });
      connection.socket.destroy();
      return;
    }
    connection.add(response);
    request.context = requestLog.begin(request, connection);
    setDefaultHeaders(response, request.context.id);
    if (draining.isDraining) response.setHeader('Connection', 'close');
    response.once('close', () => {
      connection.remove(response);
      if (response.headersSent) requestLog.end(request, response.statusCode);
    });
    next();
  };
}

/** A handler may set other values. */
function setDefaultHeaders(response: Response, requestId: string): void {
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
}
