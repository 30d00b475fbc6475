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
 * @param logOutput takes the lines of the log; standard output if it is undefined
 */
export async function createApplication(configuration: Configuration, logOutput?: LogOutput): Promise<Application> {
  const app = await NestFactory.create<Application>(
    AppModule.forRoot(configuration, logOutput),
    new ServerAdapter(configuration),
    {
      bufferLogs: true, // keeps the first lines for `useLogger`: Nest's own logger would not write them in JSON
      abortOnError: false, // a failed start throws, and our caller prints one sentence; Nest would end the process
      routeConflictPolicy: { duplicate: 'error' }, // the second of two equal routes would never be called
    },
  );
  app.useLogger(app.get(ServiceLogger));
  return app;
}
