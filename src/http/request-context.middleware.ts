import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler, Response } from 'express';
import type { Metrics } from '../telemetry/metrics.js';
import type { Tracing } from '../telemetry/tracing.js';
import type { ApiServer } from './api-server.js';
import type { Draining } from './draining.js';
import type { RequestLog } from './request-log.js';

/**
 * Node.js runs all requests of a packet at once. Without a limit a client that reads no answer keeps the memory of
 * thousands: 3.6 GB for 100 connections with 2,000 requests each (docs/decisions.md).
 */
const MAX_WAITING_REQUESTS = 32;

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const UUID_WITHOUT_DASHES = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i;

export interface RequestContextOptions {
  readonly server: ApiServer;
  readonly requestLog: RequestLog;
  readonly draining: Draining;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
}

/**
 * The first middleware: gives a request its context, and has it logged and counted when its response is closed. A
 * client on whose connection too many requests wait is closed.
 */
export function requestContext(options: RequestContextOptions): RequestHandler {
  const { server, requestLog, draining, metrics, tracing } = options;
  return (request, response, next) => {
    const { socket } = request;
    const waitingCount = server.openConnections.get(socket)?.waitingCount ?? 0;
    if (waitingCount > MAX_WAITING_REQUESTS) {
      metrics.connectionsRefused.inc({ limit: 'waiting-requests' });
      socket.destroy();
      return;
    }
    request.context = {
      id: parseRequestId(request.headers),
      peer: socket.remoteAddress,
      startedAtMs: performance.now(),
      span: tracing.startRequest(request),
    };
    setDefaultHeaders(response, request.context.id);
    if (draining.isDraining) response.setHeader('Connection', 'close');
    response.once('close', () => {
      if (response.headersSent) requestLog.end(request, response.statusCode);
    });
    next();
  };
}

/** Sets the headers of every answer. A handler may set other values. */
function setDefaultHeaders(response: Response, requestId: string): void {
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-store');
}

/**
 * The UUID in X-Request-Id, with dashes, or a new one. No other text counts: `instance` of a problem is
 * `urn:uuid:<request id>`, and the id stands unescaped in a header and in the log.
 */
function parseRequestId(headers: IncomingHttpHeaders): string {
  const field = headers['x-request-id'];
  if (typeof field !== 'string') return randomUUID();
  const id = field.replace(UUID_WITHOUT_DASHES, '$1-$2-$3-$4-$5');
  return UUID.test(id) ? id : randomUUID();
}
