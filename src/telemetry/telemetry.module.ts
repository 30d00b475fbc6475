import { Global, Module } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { LOG, type Log, createLog } from './log.js';
import { Metrics } from './metrics.js';
import { Tracing } from './tracing.js';

/** The first import of the application: global modules are shut down in the reverse order, so the spans of a shutdown are still sent. */
@Global()
@Module({
  providers: [
    Metrics,
    {
      provide: LOG,
      inject: [Configuration, Metrics],
      useFactory: (configuration: Configuration, metrics: Metrics) =>
        createLog(configuration.LOG_LEVEL, metrics),
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
