import { Global, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Draining } from './draining.js';
import { ProblemFilter } from './problem.filter.js';
import { RequestLog } from './request-log.js';

@Global()
@Module({
  providers: [Draining, RequestLog, { provide: APP_FILTER, useClass: ProblemFilter }],
  exports: [Draining, RequestLog],
})
export class HttpModule {}
