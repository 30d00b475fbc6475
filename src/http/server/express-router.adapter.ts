// An adapter that uses only the router of Express. Express's application changes the prototypes of every request and response, which makes
// these objects slow in V8, and answers unknown routes itself, in HTML. Without it a request costs a third of the CPU time, and all replies
// leave through one place.
import { type Server, type ServerResponse, createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../../problems/limits.js';
import { Problem } from '../../problems/problem.js';
import { Answer } from '../answer.js';
import {
  CLOSE_MS,
  KEEP_ALIVE_MS,
  PARSER_HEADER_BYTES,
  STALLED_MS,
  TIMEOUT_CHECK_MS,
} from '../limits.js';
import type { ProblemFilter } from '../problem.filter.js';
import { ALLOW, type Replies } from '../replies.js';
import { ServiceRequest, ServiceResponse } from '../service-request.js';
import type { Admission } from './admission.js';

const NOT_ALLOWED = new Problem('method-not-allowed', {
  detail: 'The lookups are read-only: use GET, HEAD or OPTIONS.',
  headers: ALLOW,
});

export class ExpressRouterAdapter extends ExpressAdapter {
  private replies: Replies;

  constructor() {
    const app = express();
    app.enable('case sensitive routing');
    app.enable('strict routing');
    super(app);
  }

  override initHttpServer(): void {
    const server = createServer({
      IncomingMessage: ServiceRequest,
      ServerResponse: ServiceResponse as unknown as typeof ServerResponse,
      maxHeaderSize: PARSER_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requireHostHeader: false, // Node would answer without a body, so the admission checks the Host header
    });
    server.maxHeadersCount = 0; // Node would drop further headers silently, so the admission counts them
    server.timeout = STALLED_MS;
    this.httpServer = server as unknown as Server;
  }

  /** Connects the server and the router with the providers that Nest has created. */
  connect(admission: Admission, replies: Replies, filter: ProblemFilter): void {
    this.replies = replies;
    const { router } = this.getInstance<Express>();
    // The router passes on the objects that Node created: instances of our classes, without Express's methods
    admission.guard(this.httpServer, (request, response) =>
      router(request as unknown as Request, response as unknown as Response, (error?: unknown) =>
        filter.answer(error ?? undefined, response),
      ),
    );
  }

  /** The router answers HEAD on every GET route. OPTIONS gets 204, any other method 405. */
  override get(...route: unknown[]): unknown {
    const [path, handler] = route as [string, RequestHandler];
    return this.getInstance<Express>()
      .route(path)
      .get(handler)
      .options((_request, response) => this.replies.sendOptions(response as never))
      .all((_request, response) => this.replies.sendProblem(response as never, NOT_ALLOWED));
  }

  override reply(response: ServiceResponse, body: unknown): void {
    if (!(body instanceof Answer))
      throw new Error('a route answered something else than an Answer');
    this.replies.sendAnswer(response, body);
  }

  /** Does nothing: the status is set when the reply is sent. */
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
    const cut = setTimeout(() => this.httpServer.closeAllConnections(), CLOSE_MS);
    await super.close();
    clearTimeout(cut);
  }
}
