import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AuthModule } from './auth/auth.module.js';
import { Configuration } from './configuration/configuration.js';
import { DatabaseModule } from './database/database.module.js';
import { DocumentationModule } from './documentation/documentation.module.js';
import { Draining } from './http/draining.js';
import { ProblemFilter } from './http/problem.filter.js';
import { Replies } from './http/replies.js';
import { LastGoodModule } from './last-good/last-good.module.js';
import { ManagementModule } from './management/management.module.js';
import { OrderCaptureV2Module } from './order-capture-v2/order-capture-v2.module.js';
import { OrderSchedulingModule } from './order-scheduling/order-scheduling.module.js';
import { OrderUpdateModule } from './order-update/order-update.module.js';
import { ProblemRenderer } from './problems/problem-details.js';
import { LOG, type Log } from './telemetry/log.js';

/** Objects that are created before Nest, because the HTTP server needs them. */
export interface Foundation {
  readonly configuration: Configuration;
  readonly log: Log;
  readonly problems: ProblemRenderer;
  readonly draining: Draining;
  readonly replies: Replies;
}

@Module({})
export class AppModule {
  static forRoot(foundation: Foundation): DynamicModule {
    const { configuration } = foundation;
    return {
      module: AppModule,
      imports: [
        FoundationModule.forRoot(foundation),
        DatabaseModule,
        AuthModule.forRoot(configuration),
        OrderUpdateModule,
        OrderCaptureV2Module,
        OrderSchedulingModule,
        DocumentationModule.forRoot(configuration),
        ManagementModule,
        LastGoodModule,
      ],
      providers: [{ provide: APP_FILTER, useClass: ProblemFilter }],
    };
  }
}

@Module({})
class FoundationModule {
  static forRoot(foundation: Foundation): DynamicModule {
    const { configuration, log, problems, draining, replies } = foundation;
    const providers = [
      { provide: Configuration, useValue: configuration },
      { provide: LOG, useValue: log },
      { provide: ProblemRenderer, useValue: problems },
      { provide: Draining, useValue: draining },
      { provide: Replies, useValue: replies },
    ];
    return { module: FoundationModule, global: true, providers, exports: providers };
  }
}
