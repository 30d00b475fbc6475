import { type DynamicModule, Module } from '@nestjs/common';
import { DocsController } from './docs/docs.controller.js';
import { OpenApiService } from './openapi/openapi.service.js';
import { ProblemsController } from './problem-pages/problems.controller.js';

@Module({})
export class DocumentationModule {
  /** @param access the module that knows the issuer, as the application configured it */
  static with(access: DynamicModule): DynamicModule {
    return {
      module: DocumentationModule,
      imports: [access],
      controllers: [DocsController, ProblemsController],
      providers: [OpenApiService],
      exports: [OpenApiService],
    };
  }
}
