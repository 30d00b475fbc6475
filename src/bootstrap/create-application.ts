import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule, type Foundation } from '../app.module.js';
import { WELL_KNOWN } from '../auth/protected-resource/protected-resource.js';
import type { Configuration } from '../configuration/configuration.js';
import { Cors } from '../http/cors.js';
import { Draining } from '../http/draining.js';
import { Replies } from '../http/replies.js';
import { Admission } from '../http/server/admission.js';
import { Connections } from '../http/server/connections.js';
import { ExpressRouterAdapter } from '../http/server/express-router.adapter.js';
import { Overload } from '../http/server/overload.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { type Log, nestLogger } from '../telemetry/log.js';

/** Objects that are created before Nest. */
export function createFoundation(configuration: Configuration, log: Log): Foundation {
  const draining = new Draining();
  const problems = new ProblemRenderer(configuration.baseAddress);
  return {
    configuration,
    log,
    problems,
    draining,
    replies: new Replies(problems, new Cors(configuration.CORS_ORIGINS), draining, log),
  };
}

export function createAdapter({ replies, log }: Foundation): ExpressRouterAdapter {
  const connections = new Connections(log);
  return new ExpressRouterAdapter(
    new Admission(replies, new Overload(), connections),
    connections,
    replies,
  );
}

/** The complete Nest application, not yet listening. */
export async function createApplication(
  configuration: Configuration,
  log: Log,
): Promise<NestExpressApplication> {
  const foundation = createFoundation(configuration, log);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.forRoot(foundation),
    createAdapter(foundation),
    {
      logger: nestLogger(log),
      bodyParser: false,
      abortOnError: false,
      routeConflictPolicy: { duplicate: 'error', shadow: 'error' },
    },
  );
  const { BASE_PATH } = configuration;
  if (BASE_PATH) app.setGlobalPrefix(BASE_PATH, { exclude: [`${WELL_KNOWN}{/*path}`] });
  return app;
}
