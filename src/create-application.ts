import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule, type Foundation } from './app.module.js';
import type { Configuration } from './configuration/configuration.js';
import { Admission } from './http/admission.js';
import { LeanExpressAdapter } from './http/lean-express.adapter.js';
import { Overload } from './http/overload.js';
import { Replies } from './http/replies.js';
import { ProblemRenderer } from './problems/problem-details.js';
import { type Log, nestLogger } from './telemetry/log.js';

/** The Nest application with everything in place, not listening yet. */
export async function createApplication(configuration: Configuration, log: Log): Promise<NestExpressApplication> {
  const { BASE_PATH, PUBLIC_BASE_URL, CORS_ORIGINS } = configuration;
  const problems = new ProblemRenderer(PUBLIC_BASE_URL.endsWith(BASE_PATH) ? PUBLIC_BASE_URL || BASE_PATH : PUBLIC_BASE_URL + BASE_PATH);
  const overload = new Overload();
  const replies = new Replies(problems, log);
  const foundation: Foundation = { configuration, log, problems, overload, replies };
  const adapter = new LeanExpressAdapter(new Admission(replies, problems, overload), replies);
  const app = await NestFactory.create<NestExpressApplication>(AppModule.on(foundation), adapter, {
    logger: nestLogger(log),
    bodyParser: false,
    abortOnError: false,
    routeConflictPolicy: { duplicate: 'error', shadow: 'error' },
  });
  if (BASE_PATH) app.setGlobalPrefix(BASE_PATH);
  if (CORS_ORIGINS.length > 0) {
    app.enableCors({
      origin: CORS_ORIGINS,
      methods: ['GET', 'HEAD', 'OPTIONS'],
      allowedHeaders: ['Api-Key', 'Authorization', 'If-None-Match', 'X-Request-Id', 'traceparent'],
      exposedHeaders: ['ETag', 'X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate'],
      maxAge: 3600,
      preflightContinue: true, // OPTIONS is answered like everywhere, with Allow
    });
  }
  return app;
}
