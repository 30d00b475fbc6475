import { Global, Module } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { LOG, type Log, createLog } from './log.js';
import { Metrics } from './metrics.js';
import { Tracing } from './tracing.js';

/** Log, metrics and traces. The spans of a shutdown are sent at its end: bootstrap/start-service.ts. */
@Global()
@Module({
  providers: [
    Metrics,
    {
      provide: LOG,
      inject: [Configuration, Metrics],
      useFactory: ({ LOG_LEVEL }: Configuration, metrics: Metrics) => createLog(LOG_LEVEL, metrics),
    },
    {
      provide: Tracing,
      inject: [Configuration, LOG],
      useFactory: (configuration: Configuration, log: Log) => Tracing.create(configuration, log),
    },
  ],
  exports: [Metrics, LOG, Tracing],
})
export class TelemetryModule {}
