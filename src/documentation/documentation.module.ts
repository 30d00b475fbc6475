import { type DynamicModule, Module } from '@nestjs/common';
import type { Configuration } from '../configuration/configuration.js';
import { DocsController } from './docs/docs.controller.js';
import { EntranceController } from './entrance.controller.js';
import { OpenApiController } from './openapi.controller.js';
import { ProblemPagesController } from './problem-pages.controller.js';

@Module({})
export class DocumentationModule {
  /**
   * DOCUMENTATION=off keeps the problem pages, because the `type` of each problem document is such a page's address.
   */
  static forRoot({ DOCUMENTATION }: Configuration): DynamicModule {
    const documentation = DOCUMENTATION === 'on' ? [DocsController, OpenApiController] : [];
    return {
      module: DocumentationModule,
      controllers: [EntranceController, ProblemPagesController, ...documentation],
    };
  }
}
