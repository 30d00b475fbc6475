import { type DynamicModule, Module } from '@nestjs/common';
import type { Configuration } from '../configuration/configuration.js';
import { DocsController } from './docs/docs.controller.js';
import { HomePageController } from './home-page.controller.js';
import { OpenApiController } from './openapi.controller.js';
import { ProblemPagesController } from './problem-pages.controller.js';

@Module({})
export class DocumentationModule {
  /**
   * With DOCUMENTATION=off, the home page and the problem pages stay. Balancers check that the home page answers 200,
   * and each problem document contains the address of a problem page.
   */
  static forRoot({ DOCUMENTATION }: Configuration): DynamicModule {
    const documentation = DOCUMENTATION === 'on' ? [DocsController, OpenApiController] : [];
    return {
      module: DocumentationModule,
      controllers: [HomePageController, ProblemPagesController, ...documentation],
    };
  }
}
