import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from '../app.module.js';
import type { Configuration } from '../configuration/configuration.js';
import { checkRoutes } from '../http/check-routes.js';
import { ProblemFilter } from '../http/problem.filter.js';
import { Replies } from '../http/replies.js';
import { ExpressRouterAdapter } from '../http/server/express-router.adapter.js';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';

export async function createApplication(configuration: Configuration) {
  const adapter = new ExpressRouterAdapter(configuration);
  const module = AppModule.forRoot(configuration);
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, {
    bufferLogs: true,
    autoFlushLogs: false,
    bodyParser: false,
    abortOnError: false,
    routeConflictPolicy: { duplicate: 'error', shadow: 'error' },
  });
  app.useLogger(app.get(ServiceLogger));
  app.flushLogs();
  checkRoutes(app);
  adapter.connect(app.get(Replies), app.get(Metrics), app.get(ProblemFilter));
  app.setGlobalPrefix(configuration.BASE_PATH); // may be empty
  return app;
}
