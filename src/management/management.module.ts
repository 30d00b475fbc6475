import { Module } from '@nestjs/common';
import { DatabaseModule } from '../database/database.module.js';
import { LookupsModule } from '../lookups/lookups.module.js';
import { HealthMetrics } from './health.metrics.js';
import { HealthService } from './health.service.js';
import { ManagementServer } from './management.server.js';

@Module({
  imports: [DatabaseModule, LookupsModule],
  providers: [HealthService, HealthMetrics, ManagementServer],
})
export class ManagementModule {}
