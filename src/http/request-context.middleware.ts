import type { Socket } from 'node:net';
import { Injectable, type NestMiddleware } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { Metrics } from '../telemetry/metrics.js';
import type { ApiServer } from './api-server.js';
import { Draining } from './draining.js';
import { RequestLog } from './request-log.js';

/**
 * The largest number of requests of one connection that may wait for their answers. Node.js runs all requests of a
 * packet together. Without this limit, 100 clients that do not read take 3.6 GB (docs/decisions.md).
 */
const MAX_WAITING_REQUESTS = 32;

/** Runs first for every request. Sets context and default headers, or closes a connection with too many requests. */
@Injectable()
export class RequestContextMiddleware implements NestMiddleware<Request, Response> {
  private readonly server: ApiServer;

  constructor(
    adapterHost: HttpAdapterHost,
    private readonly requestLog: RequestLog,
    private readonly draining: Draining,
    private readonly metrics: Metrics,
  ) {
    this.server = adapterHost.httpAdapter.getHttpServer() as ApiServer;
  }

  use(request: Request, response: Response, next: NextFunction): void {
    if (this.hasTooManyRequests(request.socket)) {
      this.metrics.connectionsRefused.inc({ limit: 'waiting-requests' });
      request.socket.destroy();
      return;
    }
    this.requestLog.begin(request, response);
    // A handler may replace these two headers
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Cache-Control', 'no-store');
    // After a request with the header Upgrade, Node.js drops the rest of its packet. If this rest is the first half of
    // another request, Node.js would run the second half as a request of its own: request smuggling
    const isNextRequestCut = request.headers.upgrade !== undefined;
    if (this.draining.isDraining || isNextRequestCut) response.setHeader('Connection', 'close');
    next();
  }

  private hasTooManyRequests(socket: Socket): boolean {
    const connection = this.server.openConnections.get(socket);
    return connection !== undefined && connection.waitingCount > MAX_WAITING_REQUESTS;
  }
}
