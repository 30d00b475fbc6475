import { type RequestListener, type ServerOptions } from 'node:http';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, {
  type Application,
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Configuration } from '../configuration/configuration.js';
import { HEADERS_TIMEOUT_MS, MAX_HEADER_BYTES, REQUEST_TIMEOUT_MS } from '../problems/limits.js';
import { Problem } from '../problems/problem.js';
import { Answer } from './answer.js';
import { ApiServer } from './api-server.js';

const MAX_CONNECTIONS = 10_000;
/** A connection is closed if nothing passes for this time: its client does not read, or a handler writes nothing. */
const STALLED_MS = 60_000;

/** Nest's adapter for Express, on a server with options of our own. */
export class ServerAdapter extends ExpressAdapter {
  constructor(private readonly configuration: Configuration) {
    super(createExpress(configuration));
  }

  override initHttpServer(): void {
    const server = new ApiServer(serverOptions(this.configuration), toRequestListener(this.getInstance<Express>()));
    server.maxHeadersCount = 0; // Node.js would drop further headers silently
    server.maxConnections = MAX_CONNECTIONS;
    server.setTimeout(STALLED_MS);
    this.httpServer = server;
  }

  /** Registers the last handlers for every path. Nest itself would register them only below the global prefix. */
  override setNotFoundHandler(handler: RequestHandler): void {
    this.use(otherMethods); // first: behind the 404 nothing is called
    this.use(handler);
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
  // Express reads both settings when it makes its router, with the first middleware, which is one of Nest's
  app.enable('case sensitive routing').enable('strict routing');
  app.disable('x-powered-by').set('trust proxy', TRUSTED_PROXY_HOPS);
  return app;
}

function serverOptions({ KEEP_ALIVE_SECONDS }: Configuration): ServerOptions {
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: KEEP_ALIVE_SECONDS * 1000,
    joinDuplicateHeaders: true, // without it Node.js drops a second Authorization, and findToken never sees a comma
    optimizeEmptyRequests: true, // saves a stream for the body that no request has; Node.js has it from 24.12 on
  };
  return options;
}

/** Runs Express for each request. Express calls back where it cannot parse a target, instead of sending its HTML page. */
function toRequestListener(app: Express): RequestListener {
  return (request, response) => {
    // The connection was closed, but Node.js runs all requests of a packet, of which there may be thousands
    if (!request.socket.writable) return;
    app(request as Request, response as Response, () => {
      request.url = '*'; // at which there is nothing
      app(request, response);
    });
  };
}

/** Passes the failure of a file to ProblemFilter. Nest itself would answer 400 in plain text. */
function passToFilter(error: Error, response: object): void {
  const { req: request, destroyed, writableEnded } = response as Response;
  if (destroyed || writableEnded) return; // the client left, or has all bytes
  request.next?.(error);
}

/** A route in Express's router: its pattern, and its methods in lower case. */
interface Route {
  readonly path: string;
  readonly methods: Readonly<Record<string, boolean>>;
}

/** An entry in the list of Express's router. An entry of a middleware has no `route`. */
interface Layer {
  readonly route?: Route;
  match(path: string): boolean;
}

/**
 * The middleware behind all routes: answers OPTIONS, and refuses methods that no route at the address has. Express
 * itself would answer OPTIONS with 200 and a text, and other methods with 404.
 */
function otherMethods(request: Request, response: Response, next: NextFunction): void {
  const routes = findRoutes(request);
  const [firstRoute] = routes;
  if (firstRoute === undefined) {
    next();
    return;
  }
  request.route = firstRoute; // for the log and the metrics
  const methods = listMethods(routes).join(', ');
  response.setHeader('Allow', methods);
  if (request.method === 'OPTIONS') {
    response.status(204).end();
    return;
  }
  const detail = `The methods of this address are ${methods}.`;
  next(new Problem('method-not-allowed', { detail }));
}

/**
 * The routes of the address. Express has no public list of its routes, so this function reads the list of its router,
 * whose version package.json pins (docs/decisions.md).
 */
function findRoutes(request: Request): readonly Route[] {
  const { router } = request.app as Application;
  const layers = router.stack as unknown as readonly Layer[];
  const routes: Route[] = [];
  for (const layer of layers) {
    if (layer.route && layer.match(request.path)) routes.push(layer.route);
  }
  return routes;
}

/** The methods of the routes, with HEAD, which Express answers wherever there is GET, and OPTIONS. */
function listMethods(routes: readonly Route[]): string[] {
  const methods = new Set<string>();
  for (const route of routes) {
    for (const method of Object.keys(route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  methods.add('OPTIONS');
  return [...methods];
}
