import type { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from '../app.module.js';
import type { Configuration } from '../configuration/configuration.js';
import type { ApiServer } from '../http/api-server.js';
import { Draining } from '../http/draining.js';
import { ParserErrors } from '../http/parser-errors.js';
import { parseQuery } from '../http/query-parser.js';
import { requestContext } from '../http/request-context.middleware.js';
import { requestLimits } from '../http/request-limits.js';
import { RequestLog } from '../http/request-log.js';
import { ServerAdapter } from '../http/server.adapter.js';
import { HEADERS_TIMEOUT_MS, MAX_HEAD_BYTES, REQUEST_TIMEOUT_MS } from '../problems/limits.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';

const MAX_CONNECTIONS = 10_000;
/** A connection is closed if nothing passes for this time: its client does not read, or a handler writes nothing. */
const STALLED_MS = 60_000;

type Application = NestExpressApplication<ApiServer>;

/** Creates the service as a Nest application that does not listen yet. */
export async function createApplication(configuration: Configuration): Promise<Application> {
  const app = await NestFactory.create<Application>(
    AppModule.forRoot(configuration),
    new ServerAdapter(serverOptions(configuration)),
    {
      bufferLogs: true,
      abortOnError: false,
      bodyParser: false,
      routeConflictPolicy: { duplicate: 'error' }, // the second of two equal routes would never be called
    },
  );
  configureNest(app, configuration);
  configureExpress(app, configuration);
  configureServer(app);
  addMiddleware(app, configuration);
  return app;
}

function serverOptions({ KEEP_ALIVE_SECONDS }: Configuration) {
  return {
    maxHeaderSize: MAX_HEAD_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: KEEP_ALIVE_SECONDS * 1000,
    requireHostHeader: false, // Node.js would answer without a body, so requestLimits looks at Host
    optimizeEmptyRequests: true, // saves a stream for the body that no request has; Node.js has it from 24.12 on
  };
}

function configureNest(app: Application, { BASE_PATH }: Configuration): void {
  app.useLogger(app.get(ServiceLogger));
  app.setGlobalPrefix(BASE_PATH); // may be empty
}

function configureExpress(app: Application, { TRUSTED_PROXY_HOPS }: Configuration): void {
  app.disable('x-powered-by');
  app.set('query parser', parseQuery);
  app.set('trust proxy', TRUSTED_PROXY_HOPS);
}

function configureServer(app: Application): void {
  const server = app.getHttpServer();
  const metrics = app.get(Metrics);
  const parserErrors = app.get(ParserErrors);
  server.maxHeadersCount = 0; // Node.js would drop further headers silently, so requestLimits counts them
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(STALLED_MS);
  server.on('drop', () => metrics.connectionsRefused.inc({ limit: 'connections' }));
  // requestLimits answers an expectation that cannot be met; Node.js would answer without a body
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('clientError', (error, socket: Socket) => {
    parserErrors.handle(error, server.connectionOf(socket));
  });
  metrics.addGauge({
    name: 'connections',
    help: 'Open connections on the port of the API',
    collect: (gauge) => gauge.set(server.openConnectionCount),
  });
}

/**
 * Adds the middleware, whose order matters: each request gets its context first, so that every answer has an id and is
 * logged; then the fields of CORS, so that a page in a browser can read errors, too; then the limits are checked.
 */
function addMiddleware(app: Application, configuration: Configuration): void {
  app.use(
    requestContext({
      server: app.getHttpServer(),
      requestLog: app.get(RequestLog),
      draining: app.get(Draining),
      metrics: app.get(Metrics),
    }),
  );
  if (configuration.CORS_ORIGINS.length > 0) enableCors(app, configuration);
  app.use(requestLimits);
}

function enableCors(app: Application, { CORS_ORIGINS }: Configuration): void {
  app.enableCors({
    origin: CORS_ORIGINS,
    methods: 'GET, HEAD, OPTIONS',
    allowedHeaders:
      'Api-Key, Authorization, Cache-Control, Content-Type, If-None-Match, X-Request-Id, ' +
      'baggage, traceparent, tracestate', // tracing agents in a browser add these three
    exposedHeaders: 'ETag, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate',
    maxAge: 3_600,
    preflightContinue: true, // otherwise an unknown address would get 204
  });
}
