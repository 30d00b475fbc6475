// Why there is an adapter of our own: Express sets the prototype of every request and response, and V8 treats an object whose prototype
// was changed slowly ever after. Node can be told to create its messages with classes of ours. Where those classes inherit from Express's
// request and response already, and are what Express would set, the call changes nothing, and a request costs a third of the CPU time.
// Besides that, the adapter sends answers that are ready bytes, and answers the methods that a lookup does not have.
import { type Server, type ServerResponse, createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type NextFunction, type RequestHandler } from 'express';
import { Problem } from '../../problems/problem.js';
import type { Admission } from './admission.js';
import { Answer } from '../answer.js';
import { Page } from '../page.js';
import { ServiceRequest, ServiceResponse } from '../service-request.js';
import {
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_MS,
  PARSER_HEADER_BYTES,
  REQUEST_TIMEOUT_MS,
  STALLED_MS,
  TIMEOUT_CHECK_MS,
} from '../limits.js';
import type { Replies } from '../replies.js';

const ALLOW = ['Allow', 'GET, HEAD, OPTIONS'];

export class LeanExpressAdapter extends ExpressAdapter {
  constructor(
    private readonly admission: Admission,
    private readonly replies: Replies,
  ) {
    super(strictExpress());
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    class Request extends ServiceRequest {}
    class Response extends ServiceResponse {}
    for (const [ours, expressOne] of [
      [ServiceRequest, app.request],
      [ServiceResponse, app.response],
    ] as const) {
      if (!Object.prototype.isPrototypeOf.call(expressOne, ours.prototype))
        Object.setPrototypeOf(ours.prototype, expressOne);
    }
    app.request = Request.prototype as unknown as Express['request'];
    app.response = Response.prototype as unknown as Express['response'];
    const server = createServer({
      IncomingMessage: Request,
      ServerResponse: Response as unknown as typeof ServerResponse,
      maxHeaderSize: PARSER_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requireHostHeader: false, // Node would answer without a body: the admission looks itself
    });
    server.maxHeadersCount = 0; // Node would drop what is beyond the count silently: the admission counts itself
    server.timeout = STALLED_MS;
    this.httpServer = server as unknown as Server;
    this.admission.guard(this.httpServer, app);
  }

  /** Every GET route answers HEAD by Express, OPTIONS with 204, and any other method with 405. */
  override get(...route: unknown[]): unknown {
    const [path, handler] = route as [string, RequestHandler];
    return this.getInstance<Express>()
      .route(path)
      .get(handler)
      .all((request, response, next) =>
        this.otherMethod(
          request as unknown as ServiceRequest,
          response as unknown as ServiceResponse,
          next,
        ),
      );
  }

  override reply(response: unknown, body: unknown, statusCode?: number): unknown {
    const { req: request } = response as ServiceResponse;
    if (body instanceof Answer)
      return this.replies.answer(request, response as ServiceResponse, body);
    if (body instanceof Page) return this.replies.page(request, response as ServiceResponse, body);
    throw new Error(`a route answered neither an Answer nor a Page, with status ${statusCode}`);
  }

  private otherMethod(
    request: ServiceRequest,
    response: ServiceResponse,
    next: NextFunction,
  ): void {
    if (request.method === 'OPTIONS') {
      response.writeHead(204, [...ALLOW, 'X-Request-Id', request.requestId]);
      response.end();
      this.replies.finished(request, 204);
      return;
    }
    next(
      new Problem('method-not-allowed', {
        detail: 'The lookups are read-only: use GET, HEAD or OPTIONS.',
        headers: ALLOW,
        close: request.hasContent,
      }),
    );
  }
}

/** Express without what the service does itself or not at all. Settings of the router count only before the first route. */
function strictExpress(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', false);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  return app;
}
