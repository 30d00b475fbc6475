import type { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from '../app.module.js';
import type { Configuration } from '../configuration/configuration.js';
import type { ApiServer } from '../http/api-server.js';
import { Draining } from '../http/draining.js';
import { ParserErrors } from '../http/parser-errors.js';
import { requestContext } from '../http/request-context.middleware.js';
import { RequestLog } from '../http/request-log.js';
import { ServerAdapter } from '../http/server.adapter.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';

type Application = NestExpressApplication<ApiServer>;

/** Creates the service as a Nest application that does not listen yet. */
export async function createApplication(configuration: Configuration): Promise<Application> {
  const app = await NestFactory.create<Application>(
    AppModule.forRoot(configuration),
    new ServerAdapter(configuration),
    {
      bufferLogs: true, // until `useLogger`: otherwise Nest's own logger would write the first lines, which are no JSON
      abortOnError: false, // a start that fails throws, and its caller prints one sentence; Nest would end the process
      bodyParser: false, // the bodies of strangers are not parsed; CONTRIBUTING.md has the recipe for a route with one
      routeConflictPolicy: { duplicate: 'error' }, // the second of two equal routes would never be called
    },
  );
  app.useLogger(app.get(ServiceLogger));
  app.setGlobalPrefix(configuration.BASE_PATH); // may be empty
  watchConnections(app);
  addMiddleware(app, configuration);
  return app;
}

function watchConnections(app: Application): void {
  const server = app.getHttpServer();
  const metrics = app.get(Metrics);
  const parserErrors = app.get(ParserErrors);
  server.on('drop', () => metrics.connectionsRefused.inc({ limit: 'connections' }));
  server.on('clientError', (error, socket: Socket) => parserErrors.handle(error, socket, server));
  metrics.addGauge({
    name: 'connections',
    help: 'Open connections on the port of the API',
    collect: (gauge) => gauge.set(server.openConnections.size),
  });
}

/**
 * Adds the middleware before `init` adds the routes: later middleware would never run. The context comes first, so that
 * every answer has an id and is logged. CORS comes second, so that a page in a browser can read errors.
 */
function addMiddleware(app: Application, configuration: Configuration): void {
  app.use(
    requestContext({
      server: app.getHttpServer(),
      requestLog: app.get(RequestLog),
      draining: app.get(Draining),
      metrics: app.get(Metrics),
      tracing: app.get(Tracing),
    }),
  );
  if (configuration.CORS_ORIGINS.length > 0) enableCors(app, configuration);
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
    preflightContinue: true, // `otherMethods` of the adapter answers: cors itself would give an unknown address 204
  });
}
