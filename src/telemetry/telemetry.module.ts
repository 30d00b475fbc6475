import { Global, Module } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { Log } from './log.js';
import { Metrics } from './metrics.js';
import { Tracing } from './tracing.js';

/** Log, metrics and traces. The spans of a shutdown are sent at its end: bootstrap/start-service.ts. */
@Global()
@Module({
  providers: [
    Metrics,
    Log,
    { provide: Tracing, inject: [Configuration, Log], useFactory: Tracing.create },
  ],
  exports: [Metrics, Log, Tracing],
})
export class TelemetryModule {}
