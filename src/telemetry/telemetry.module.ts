import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from './metrics.js';
import { LOG_OUTPUT, type LogOutput, ServiceLogger } from './service-logger.js';
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
export class TelemetryModule {
  /** @param logOutput the destination of log lines. The default is standard output */
  static forRoot(logOutput?: LogOutput): DynamicModule {
    return { module: TelemetryModule, providers: [{ provide: LOG_OUTPUT, useValue: logOutput }] };
  }
}
