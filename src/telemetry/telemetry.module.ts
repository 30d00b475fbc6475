import { Global, Module } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from './metrics.js';
import { ServiceLogger } from './service-logger.js';
import { Tracing, createTracing } from './tracing.js';

@Global()
@Module({
  providers: [
    Metrics,
    ServiceLogger,
    { provide: Tracing, inject: [Configuration, ServiceLogger], useFactory: createTracing },
  ],
  exports: [Metrics, ServiceLogger, Tracing],
})
export class TelemetryModule {}
