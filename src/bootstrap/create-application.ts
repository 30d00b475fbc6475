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

/** The service as a Nest application that does not listen yet. */
export async function createApplication(configuration: Configuration): Promise<Application> {
  const app = await NestFactory.create<Application>(
    AppModule.forRoot(configuration),
    new ServerAdapter(serverOptions(configuration)),
    {
      bufferLogs: true,
      abortOnError: false,
      bodyParser: false,
      routeConflictPolicy: { duplicate: 'error', shadow: 'error' },
    },
  );
  app.useLogger(app.get(ServiceLogger));
  app.setGlobalPrefix(configuration.BASE_PATH); // may be empty
  app.disable('x-powered-by');
  app.set('query parser', parseQuery);
  app.set('trust proxy', configuration.TRUSTED_PROXY_HOPS);
  app.use(
    requestContext({
      requestLog: app.get(RequestLog),
      draining: app.get(Draining),
      metrics: app.get(Metrics),
    }),
  );
  enableCors(app, configuration);
  app.use(requestLimits);
  configureServer(app);
  return app;
}

/** `optimizeEmptyRequests` saves a stream for the body that no request has. Before 24.12 Node.js ignores it. */
const serverOptions = ({ KEEP_ALIVE_SECONDS }: Configuration) => ({
  maxHeaderSize: MAX_HEAD_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: KEEP_ALIVE_SECONDS * 1000,
  requireHostHeader: false, // Node.js would answer without a body, so requestLimits looks at Host
  optimizeEmptyRequests: true,
});

/** Also for errors, so that a page in a browser can read them. Off by default. */
function enableCors(app: Application, { CORS_ORIGINS }: Configuration): void {
  if (CORS_ORIGINS.length === 0) return;
  app.enableCors({
    origin: CORS_ORIGINS,
    methods: 'GET, HEAD, OPTIONS',
    allowedHeaders:
      'Api-Key, Authorization, Cache-Control, Content-Type, If-None-Match, X-Request-Id, ' +
      'baggage, traceparent, tracestate', // what tracing agents add
    exposedHeaders:
      'ETag, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate',
    maxAge: 3_600,
    preflightContinue: true, // unknown addresses would be answered with 204
  });
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
  server.on('clientError', (error, socket: Socket) => parserErrors.handle(error, socket));
  metrics.addGauge({
    name: 'connections',
    help: 'Open connections on the port of the API',
    collect: (gauge) => gauge.set(server.openSockets.size),
  });
}
