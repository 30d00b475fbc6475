import { Global, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { Draining } from './draining.js';
import { ProblemFilter } from './problem.filter.js';
import { Replies } from './replies.js';

const renderer = {
  provide: ProblemRenderer,
  inject: [Configuration],
  useFactory: ({ baseAddress }: Configuration) => new ProblemRenderer(baseAddress),
};
const filter = { provide: APP_FILTER, useExisting: ProblemFilter };

@Global()
@Module({
  providers: [renderer, Draining, Replies, ProblemFilter, filter],
  exports: [ProblemRenderer, ProblemFilter, Draining, Replies],
})
export class HttpModule {}
