import type { Socket } from 'node:net';
import { Global, type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ApiServer } from './api-server.js';
import { Draining } from './draining.js';
import { ParserErrors } from './parser-errors.js';
import { ProblemFilter } from './problem.filter.js';
import { RequestContextMiddleware } from './request-context.middleware.js';
import { RequestLog } from './request-log.js';
import { ServerAdapter } from './server.adapter.js';

const PREFLIGHT_MAX_AGE_SECONDS = 3_600;

/** The parts that run for every request. The module is global: Nest runs the middleware of global modules first. */
@Global()
@Module({
  providers: [Draining, RequestLog, ParserErrors, { provide: APP_FILTER, useClass: ProblemFilter }],
  exports: [Draining, RequestLog, ParserErrors],
})
export class HttpModule implements NestModule {
  constructor(
    private readonly configuration: Configuration,
    private readonly adapterHost: HttpAdapterHost,
    private readonly metrics: Metrics,
    private readonly parserErrors: ParserErrors,
  ) {
    metrics.addGauge({
      name: 'connections',
      help: 'Open connections on the port of the API',
      collect: (gauge) => gauge.set((adapterHost.httpAdapter.getHttpServer() as ApiServer).openConnections.size),
    });
  }

  /** @throws Error if the application has another adapter, because only ServerAdapter can send an Answer */
  configure(consumer: MiddlewareConsumer): void {
    const { httpAdapter } = this.adapterHost;
    if (!(httpAdapter instanceof ServerAdapter)) {
      throw new Error('AppModule needs its own adapter: create the application with new ServerAdapter(configuration).');
    }
    this.watchConnections(httpAdapter.getHttpServer() as ApiServer);
    if (this.configuration.CORS_ORIGINS.length > 0) httpAdapter.enableCors(createCorsOptions(this.configuration));
    consumer.apply(RequestContextMiddleware).forRoutes('/'); // for all addresses, even those without a route
  }

  private watchConnections(server: ApiServer): void {
    server.on('drop', () => this.metrics.connectionsRefused.inc({ limit: 'connections' }));
    server.on('clientError', (error, socket: Socket) => this.parserErrors.handle(error, socket, server));
  }
}

function createCorsOptions({ CORS_ORIGINS }: Configuration) {
  return {
    origin: CORS_ORIGINS,
    methods: 'GET, HEAD, OPTIONS',
    allowedHeaders:
      'Api-Key, Authorization, Cache-Control, Content-Type, If-None-Match, X-Request-Id, ' +
      'baggage, traceparent, tracestate', // tracing agents in a browser add these three
    exposedHeaders: 'ETag, X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate',
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    preflightContinue: true, // ServerAdapter answers OPTIONS: the package cors would answer 204 at unknown addresses
  };
}
