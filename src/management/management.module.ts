import { Module } from '@nestjs/common';
import type { DynamicModule } from '@nestjs/common';
import { CodesModule } from '../codes/codes.module.js';
import { HealthService } from './health.service.js';
import { LifecycleService } from './lifecycle.service.js';
import { ManagementServer } from './management.server.js';

@Module({})
export class ManagementModule {
  /** @param access the module that holds keys and tokens, as the application configured it */
  static with(access: DynamicModule): DynamicModule {
    return {
      module: ManagementModule,
      imports: [CodesModule, access],
      providers: [HealthService, LifecycleService, ManagementServer],
      exports: [HealthService, ManagementServer],
    };
  }
}
