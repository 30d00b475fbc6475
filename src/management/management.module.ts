import { Module } from '@nestjs/common';
import { LookupsModule } from '../lookups/lookups.module.js';
import { HealthService } from './health.service.js';
import { ManagementServer } from './management.server.js';

@Module({
  imports: [LookupsModule],
  providers: [HealthService, ManagementServer],
})
export class ManagementModule {}
