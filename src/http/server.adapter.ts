import { type RequestListener, type ServerOptions } from 'node:http';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { Configuration } from '../configuration/configuration.js';
import { HEADERS_TIMEOUT_MS, MAX_HEADER_BYTES, REQUEST_TIMEOUT_MS } from '../problems/limits.js';
import { Problem } from '../problems/problem.js';
import { Answer } from './answer.js';
import { ApiServer } from './api-server.js';

const MAX_CONNECTIONS = 10_000;
const TIMEOUT_CHECK_INTERVAL_MS = 1_000;
/** During a request, a connection without traffic is closed after this time: its client or a handler hangs. */
const STALL_TIMEOUT_MS = 60_000;

/** Nest's adapter for Express, with our own server, options, and answers to requests without a route. */
export class ServerAdapter extends ExpressAdapter {
  private readonly methodsByPath = new Map<string, Set<string>>();

  constructor(private readonly configuration: Configuration) {
    super(createExpress(configuration));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const server = new ApiServer(createServerOptions(this.configuration), toRequestListener(app));
    server.maxHeadersCount = 0; // no limit: with a limit, Node.js silently drops the headers after it
    server.maxConnections = MAX_CONNECTIONS;
    server.setTimeout(STALL_TIMEOUT_MS);
    useServerPrototypes(app, server);
    this.httpServer = server;
  }

  // Nest calls these methods for routes with @Get, @Post, @Put, @Patch and @Delete. Routes with other decorators work,
  // but the header Allow does not name their methods
  override get(path: unknown, handler?: unknown): unknown {
    return this.register('get', path, handler);
  }

  override post(path: unknown, handler?: unknown): unknown {
    return this.register('post', path, handler);
  }

  override put(path: unknown, handler?: unknown): unknown {
    return this.register('put', path, handler);
  }

  override patch(path: unknown, handler?: unknown): unknown {
    return this.register('patch', path, handler);
  }

  override delete(path: unknown, handler?: unknown): unknown {
    return this.register('delete', path, handler);
  }

  private register(method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: unknown, handler: unknown): unknown {
    const pattern = path as string; // Nest's type allows a call without a path, but Nest never makes such a call
    const methods = this.methodsByPath.get(pattern) ?? new Set();
    this.methodsByPath.set(pattern, methods.add(method.toUpperCase()));
    return this.getInstance<Express>()[method](pattern, handler as RequestHandler);
  }

  /** Nest calls this method after all routes. Nest's own 404 would contain the path and the query of the request. */
  override setNotFoundHandler(): void {
    const app = this.getInstance<Express>();
    for (const [path, methods] of this.methodsByPath) app.all(path, refuseOtherMethods(methods));
    app.use(refuseUnknownAddress);
  }

  /** Parses no body, because the caller may be a stranger. CONTRIBUTING.md has the recipe for a route with a body. */
  override registerParserMiddleware(): void {}

  override reply(response: Response, body: unknown, status?: number): unknown {
    const { req: request } = response;
    if (body instanceof Answer) return body.sendTo(request, response);
    if (body instanceof StreamableFile) body.setErrorHandler(passToFilter);
    return super.reply(response, body, status);
  }
}

function createExpress({ TRUSTED_PROXY_HOPS }: Configuration): Express {
  const app = express();
  // Express reads these two settings at the first `app.use`, when it makes its router. The constructor of Nest's
  // adapter calls `app.use`, so after that constructor the settings would have no effect
  app.enable('case sensitive routing').enable('strict routing');
  app.disable('x-powered-by').set('trust proxy', TRUSTED_PROXY_HOPS);
  return app;
}

function createServerOptions({ KEEP_ALIVE_SECONDS }: Configuration): ServerOptions {
  // The types of Node.js 20 lack `optimizeEmptyRequests`, and refuse it in a literal. So `options` is a variable
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_SECONDS * 1000,
    joinDuplicateHeaders: true, // joins a second Authorization with a comma, so it is refused and not silently dropped
    optimizeEmptyRequests: true, // a request without a body costs less, but emits no `end`; from Node.js 24.12 on
  };
  return options;
}

/**
 * Lets Node.js create each request and response with the prototype that Express sets. If Express changed the prototype,
 * V8 would handle the object slowly. See docs/decisions.md.
 */
function useServerPrototypes(app: Express, { requestPrototype, responsePrototype }: ApiServer): void {
  app.request = extendPrototype(requestPrototype, app.request);
  app.response = extendPrototype(responsePrototype, app.response);
}

/** Adds to a prototype of the server what Express's prototype has: the property `app`, and inherited methods. */
function extendPrototype<Prototype extends object>(ofServer: object, ofExpress: Prototype): Prototype {
  // `app` is copied: if somebody mounts the application in another one, Express replaces all that is inherited
  Object.defineProperties(ofServer, Object.getOwnPropertyDescriptors(ofExpress));
  Object.setPrototypeOf(ofServer, Object.getPrototypeOf(ofExpress) as object);
  return ofServer as Prototype;
}

/** Returns a listener that runs Express for each request. If Express finds no path in the URL, it calls `onNoPath`. */
function toRequestListener(app: Express): RequestListener {
  return (request, response) => {
    // A packet may contain thousands of requests. Node.js runs them all, also after we have closed the connection
    if (!request.socket.writable) return;
    const onNoPath = (): void => {
      request.url = '*'; // an address without a route, so the answer is 404 and not Express's HTML page
      app(request as Request, response as Response);
    };
    app(request as Request, response as Response, onNoPath);
  };
}

/** Passes the error of a StreamableFile to ProblemFilter. Nest's own handler would answer 400 in plain text. */
function passToFilter(error: Error, response: object): void {
  const { req: request, destroyed, writableEnded } = response as Response;
  if (destroyed || writableEnded) return; // the client has left, or the answer is whole
  request.next?.(error);
}

/** Returns a handler that runs after the routes of a path. It answers OPTIONS, and refuses methods without a route. */
function refuseOtherMethods(routeMethods: ReadonlySet<string>): RequestHandler {
  const methods = [...routeMethods];
  if (routeMethods.has('GET')) methods.push('HEAD'); // Express answers HEAD by the route for GET
  const allow = [...methods, 'OPTIONS'].join(', ');
  return ({ method }, response, next) => {
    if (methods.includes(method)) {
      next(); // a route for another `host`, for example, passed the request on. The next handler answers 404
      return;
    }
    response.setHeader('Allow', allow);
    if (method === 'OPTIONS') response.status(204).end();
    else next(new Problem('method-not-allowed', { detail: `The methods of this address are ${allow}.` }));
  };
}

function refuseUnknownAddress(_request: Request, _response: Response, next: NextFunction): void {
  const detail = 'There is nothing at this address. Paths are case-sensitive and have no trailing slash.';
  next(new Problem('not-found', { detail }));
}
