import { Module } from '@nestjs/common';
import { CodesModule } from '../lookups/codes.module.js';
import { HealthService } from './health.service.js';
import { ManagementServer } from './management.server.js';

@Module({ imports: [CodesModule], providers: [HealthService, ManagementServer] })
export class ManagementModule {}
