import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule, type Foundation } from '../app.module.js';
import { WELL_KNOWN } from '../auth/protected-resource/protected-resource.js';
import type { Configuration } from '../configuration/configuration.js';
import { createOpenApiDocument } from '../documentation/openapi/openapi.document.js';
import { OpenApiService } from '../documentation/openapi/openapi.service.js';
import { Admission } from '../http/server/admission.js';
import { LeanExpressAdapter } from '../http/server/lean-express.adapter.js';
import { Overload } from '../http/server/overload.js';
import { Replies } from '../http/replies.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { type Log, nestLogger } from '../telemetry/log.js';

/** What exists before Nest does. */
export function createFoundation(configuration: Configuration, log: Log): Foundation {
  const problems = new ProblemRenderer(configuration.baseAddress);
  return {
    configuration,
    log,
    problems,
    overload: new Overload(),
    replies: new Replies(problems, log),
  };
}

export const createAdapter = ({ replies, problems, overload }: Foundation): LeanExpressAdapter =>
  new LeanExpressAdapter(new Admission(replies, problems, overload), replies);

/** Applies what a Nest application is told before it is initialized. */
export function prepare(
  app: NestExpressApplication,
  configuration: Configuration,
): NestExpressApplication {
  const { BASE_PATH, CORS_ORIGINS } = configuration;
  if (BASE_PATH) app.setGlobalPrefix(BASE_PATH, { exclude: [`${WELL_KNOWN}{/*path}`] });
  if (CORS_ORIGINS.length > 0) {
    app.enableCors({
      origin: CORS_ORIGINS,
      methods: ['GET', 'HEAD', 'OPTIONS'],
      allowedHeaders: ['Api-Key', 'Authorization', 'If-None-Match', 'X-Request-Id', 'traceparent'],
      exposedHeaders: [
        'ETag',
        'X-Request-Id',
        'Retry-After',
        'RateLimit',
        'RateLimit-Policy',
        'WWW-Authenticate',
      ],
      maxAge: 3600,
      preflightContinue: true, // OPTIONS is answered like everywhere, with Allow
    });
  }
  app.get(OpenApiService).use(createOpenApiDocument(app, configuration, app.get(ProblemRenderer)));
  return app;
}

/** The Nest application with everything in place, not listening yet. */
export async function createApplication(
  configuration: Configuration,
  log: Log,
): Promise<NestExpressApplication> {
  const foundation = createFoundation(configuration, log);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.on(foundation),
    createAdapter(foundation),
    {
      logger: nestLogger(log),
      bodyParser: false,
      abortOnError: false,
      routeConflictPolicy: { duplicate: 'error', shadow: 'error' },
    },
  );
  return prepare(app, configuration);
}
