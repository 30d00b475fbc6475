import { type DynamicModule, Module } from '@nestjs/common';
import type { Configuration } from '../configuration/configuration.js';
import { DocsController } from './docs/docs.controller.js';
import { ProblemsController } from './problem-pages/problems.controller.js';

@Module({})
export class DocumentationModule {
  /** With DOCUMENTATION=off the pages of problem types remain, because the type of every problem is the address of one. */
  static forRoot({ DOCUMENTATION }: Configuration): DynamicModule {
    const optional = DOCUMENTATION === 'on' ? [DocsController] : [];
    return { module: DocumentationModule, controllers: [...optional, ProblemsController] };
  }
}
