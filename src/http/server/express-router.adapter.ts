// An adapter that uses only the router of Express. Express's application changes the prototypes of every request and response (13 % of CPU
// time), and answers unknown routes in HTML. Routes without parameters are found in a map, without the router (7 %).
import { IncomingMessage, type Server, ServerResponse, createServer } from 'node:http';
import type { Socket } from 'node:net';
import { UnsupportedMediaTypeException } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type RequestHandler } from 'express';
import type { Configuration } from '../../configuration/configuration.js';
import { HEADERS_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../../problems/limits.js';
import { malformed } from '../../problems/problem.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { Answer } from '../answer.js';
import { TAKES_BODY } from '../check-routes.js';
import type { ProblemFilter } from '../problem.filter.js';
import type { Replies } from '../replies.js';
import { type ServiceRequest, type ServiceResponse, prepare } from '../service-request.js';
import { admit } from './admission.js';
import { BODY, notAllowed } from './framing.js';

/** At which Node's parser stops: more than our own limits, so that the answer can say which part is too long. */
const PARSER_HEADER_BYTES = 32 * 1024;
/** How long clients may continue to read answers under way when the service ends. */
const CLOSE_MS = 4_000;

type Next = (error?: unknown) => void;
type Handler = (request: ServiceRequest, response: ServiceResponse, next: Next) => void;
/** The message of the error shows what was sent, which may be a credential. */
const BAD_JSON = malformed('The body is not valid JSON.');
const readJson = express.json() as unknown as Handler;

export class ExpressRouterAdapter extends ExpressAdapter {
  /** Of both ports. With others on the port for operators a 200 takes 3 % more CPU time: V8 optimizes code less that handles objects of several classes. */
  readonly classes = {
    IncomingMessage: class extends IncomingMessage {
      constructor(socket: Socket) {
        super(socket);
        prepare(this as unknown as ServiceRequest);
      }
    },
    ServerResponse: class extends ServerResponse {},
  };
  private replies: Replies;
  private readonly routes = new Map<string, Map<string, Handler>>();
  private readonly withoutParameters = new Map<string, Handler>();

  constructor(private readonly configuration: Configuration) {
    super(express().enable('case sensitive routing').enable('strict routing').disable('etag'));
    for (const method of ['get', 'head', 'post', 'put', 'patch', 'delete', 'all'] as const)
      this[method] = (path: unknown, handler?: unknown) =>
        this.add(method.toUpperCase(), path as string, handler as Handler);
    // Requests without a route and errors of the router go to the callback of the router
    this.setNotFoundHandler = this.setErrorHandler = () => this;
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    // Objects of Node.js that have the methods of Express, which controllers may use
    Object.setPrototypeOf(this.classes.IncomingMessage.prototype, app.request);
    Object.setPrototypeOf(this.classes.ServerResponse.prototype, app.response);
    const options = {
      ...this.classes,
      maxHeaderSize: PARSER_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: this.configuration.KEEP_ALIVE_SECONDS * 1000,
      joinDuplicateHeaders: true,
      optimizeEmptyRequests: true, // no stream for a body that does not come; older versions than 24.12 ignore it
      requireHostHeader: false, // Node would answer without a body, so the admission checks the Host header
    };
    const server = createServer(options);
    server.maxHeadersCount = 0; // Node would drop further headers silently, so the admission counts them
    this.httpServer = server as unknown as Server;
  }

  connect(replies: Replies, metrics: Metrics, filter: ProblemFilter): void {
    this.replies = replies;
    const router = this.getInstance<Express>().router as unknown as Handler;
    admit(this.httpServer, replies, metrics, (request, response) => {
      const { originalUrl: url } = request;
      const path = url.includes('?') ? url.slice(0, url.indexOf('?')) : url;
      const run = this.withoutParameters.get(path) ?? router;
      run(request, response, (error) => filter.answer(error, response));
    });
  }

  private add(method: string, path: string, handler: Handler): void {
    const handlers = this.routes.get(path) ?? new Map<string, Handler>();
    handlers.set(method, handler);
    if (method === 'GET') handlers.set('HEAD', handlers.get('HEAD') ?? handler);
    if (this.routes.has(path)) return;
    this.routes.set(path, handlers);
    const dispatch = this.dispatcher(path, handlers);
    const app = this.getInstance<Express>();
    // Middleware of modules runs in the router, after the first layer, which is Nest's own
    const hasMiddleware = app.router.stack.slice(1).some(({ route }) => !route);
    if (/^[\w/.~-]+$/.test(path) && !hasMiddleware) this.withoutParameters.set(path, dispatch);
    app.route(path).all(dispatch as unknown as RequestHandler);
  }

  private dispatcher(path: string, handlers: ReadonlyMap<string, Handler>): Handler {
    return (request, response, next) => {
      const { method = '', headers, httpVersion } = request;
      request.operation = path;
      const handler = handlers.get(method) ?? handlers.get('ALL');
      if (!handler) {
        request.allow = [...handlers.keys(), 'OPTIONS'].join(', ');
        if (method === 'OPTIONS') return this.replies.sendOptions(response);
        return this.replies.sendProblem(response, notAllowed(request.allow));
      }
      if (!request.hasUnreadBody) return handler(request, response, next);
      if (!Reflect.hasMetadata(TAKES_BODY, handler))
        return this.replies.sendProblem(response, BODY);
      if (headers.expect && httpVersion === '1.1') response.writeContinue();
      readJson(request, response, (error) => {
        if (error) return next(error instanceof SyntaxError ? BAD_JSON : this.mapException(error));
        if (request.body === undefined)
          return next(new UnsupportedMediaTypeException('The body has to be application/json.'));
        request.hasUnreadBody = false;
        handler(request, response, next);
      });
    };
  }

  override reply(response: ServiceResponse, body: unknown, status?: number): void {
    if (body instanceof Answer) return this.replies.sendAnswer(response, body);
    response.req.res = response; // as Express has it
    this.replies.sendWith(response, () => super.reply(response, body, status));
  }

  override async close(): Promise<void> {
    setTimeout(() => this.httpServer.closeAllConnections(), CLOSE_MS).unref();
    await super.close();
  }
}
