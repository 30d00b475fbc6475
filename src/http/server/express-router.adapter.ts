// An adapter that uses only the router of Express. Express's application changes the prototypes of every request and response, which makes
// these objects slow in V8, and answers unknown routes itself, in HTML. Without it a request costs 13 % more CPU time.
import { type Server, type ServerOptions, createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../../problems/limits.js';
import type { Metrics } from '../../telemetry/metrics.js';
import type { Answer } from '../answer.js';
import type { ProblemFilter } from '../problem.filter.js';
import { NOT_ALLOWED, type Replies } from '../replies.js';
import { ServiceRequest, type ServiceResponse } from '../service-request.js';
import { guard } from './admission.js';

/** Bytes at which Node's parser stops. It is higher than our own limits, so that the answer can say which part is too long. */
const PARSER_HEADER_BYTES = 32 * 1024;
/** Longer than the idle time-out of common load balancers (60 s), so that the balancer closes first and does not use a closed connection. */
const KEEP_ALIVE_MS = 75_000;
/** A connection without any traffic for this time is closed, also if the client does not read an answer. */
const STALLED_MS = 30_000;
/** How long clients may continue to read answers under way when the service ends. */
const CLOSE_MS = 4_000;

export class ExpressRouterAdapter extends ExpressAdapter {
  private replies: Replies;

  constructor() {
    super(express().enable('case sensitive routing').enable('strict routing'));
  }

  override initHttpServer(): void {
    const options: ServerOptions<typeof ServiceRequest> & { optimizeEmptyRequests: true } = {
      IncomingMessage: ServiceRequest,
      maxHeaderSize: PARSER_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: KEEP_ALIVE_MS,
      joinDuplicateHeaders: true,
      optimizeEmptyRequests: true, // no stream for a body that does not come; older versions than 24.12 ignore it
      requireHostHeader: false, // Node would answer without a body, so the admission checks the Host header
    };
    const server = createServer(options);
    server.maxHeadersCount = 0; // Node would drop further headers silently, so the admission counts them
    server.timeout = STALLED_MS;
    this.httpServer = server as unknown as Server;
  }

  connect(replies: Replies, metrics: Metrics, filter: ProblemFilter): void {
    this.replies = replies;
    const { router } = this.getInstance<Express>();
    guard(this.httpServer, replies, metrics, (request, response) =>
      router(request as unknown as Request, response as unknown as Response, (error?: unknown) =>
        filter.answer(error, response),
      ),
    );
  }

  override get(...route: unknown[]): unknown {
    const [path, handler] = route as [string, RequestHandler];
    return this.getInstance<Express>()
      .route(path)
      .get(handler)
      .options((_request, response) => this.replies.sendOptions(response as never))
      .all((_request, response) => this.replies.sendProblem(response as never, NOT_ALLOWED));
  }

  override reply(response: ServiceResponse, answer: Answer): void {
    this.replies.sendAnswer(response, answer);
  }

  override status(): void {}

  /** Requests without a route and errors of the router go to the callback of the router. */
  override setNotFoundHandler(): this {
    return this;
  }

  override setErrorHandler(): this {
    return this;
  }

  /** Waits until the answers under way have been read, but no longer than CLOSE_MS. */
  override async close(): Promise<void> {
    setTimeout(() => this.httpServer.closeAllConnections(), CLOSE_MS).unref();
    await super.close();
  }
}
