import { Global, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Draining } from './draining.js';
import { ParserErrors } from './parser-errors.js';
import { ProblemFilter } from '../problems/problem.filter.js';
import { RequestLog } from './request-log.js';

@Global()
@Module({
  providers: [Draining, RequestLog, ParserErrors, { provide: APP_FILTER, useClass: ProblemFilter }],
  exports: [Draining, RequestLog, ParserErrors],
})
export class HttpModule {}
