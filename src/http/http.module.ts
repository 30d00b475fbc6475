import { Global, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import { ProblemRenderer } from '../problems/problem-details.js';
import { Cors } from './cors.js';
import { Draining } from './draining.js';
import { ProblemFilter } from './problem.filter.js';
import { Replies } from './replies.js';
import { Admission } from './server/admission.js';
import { Connections } from './server/connections.js';

@Global()
@Module({
  providers: [
    {
      provide: ProblemRenderer,
      inject: [Configuration],
      useFactory: ({ baseAddress }: Configuration) => new ProblemRenderer(baseAddress),
    },
    Cors,
    Draining,
    Replies,
    Connections,
    Admission,
    ProblemFilter,
    { provide: APP_FILTER, useExisting: ProblemFilter },
  ],
  exports: [ProblemRenderer, ProblemFilter, Draining, Replies],
})
export class HttpModule {}
