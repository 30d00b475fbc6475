import { Module } from '@nestjs/common';
import { DatabaseModule } from '../database/database.module.js';
import { LookupsModule } from '../lookups/lookups.module.js';
import { HealthService } from './health.service.js';
import { ManagementServer } from './management.server.js';

@Module({
  imports: [DatabaseModule, LookupsModule],
  providers: [HealthService, ManagementServer],
})
export class ManagementModule {}
