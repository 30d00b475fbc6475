import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from '../app.module.js';
import type { Configuration } from '../configuration/configuration.js';
import type { ApiServer } from '../http/api-server.js';
import { ServerAdapter } from '../http/server.adapter.js';
import { type LogOutput, ServiceLogger } from '../telemetry/service-logger.js';

type Application = NestExpressApplication<ApiServer>;

/**
 * Creates the service as a Nest application that does not listen yet.
 * @param logOutput the destination of log lines. The default is standard output
 */
export async function createApplication(configuration: Configuration, logOutput?: LogOutput): Promise<Application> {
  const app = await NestFactory.create<Application>(
    AppModule.forRoot(configuration, logOutput),
    new ServerAdapter(configuration),
    {
      bufferLogs: true, // the first lines wait for `useLogger`, because Nest's own logger writes no JSON
      abortOnError: false, // a failed start throws. Otherwise Nest would end the process without our message
      routeConflictPolicy: { duplicate: 'error' }, // the second of two equal routes would never be called
    },
  );
  app.useLogger(app.get(ServiceLogger));
  return app;
}
