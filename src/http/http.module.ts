import { Global, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ProblemRenderer } from '../problems/problem-details.js';
import { ProblemFilter } from './problem.filter.js';
import { RateLimit } from './rate-limit.js';
import { Replies } from './replies.js';

const filter = { provide: APP_FILTER, useExisting: ProblemFilter };

@Global()
@Module({
  providers: [ProblemRenderer, RateLimit, Replies, ProblemFilter, filter],
  exports: [ProblemRenderer, ProblemFilter, RateLimit, Replies],
})
export class HttpModule {}
