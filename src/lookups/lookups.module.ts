import { Module } from '@nestjs/common';
import { DatabaseModule } from '../database/database.module.js';
import { SnapshotsModule } from '../snapshots/snapshots.module.js';
import { CodesService } from './codes.service.js';

@Module({
  imports: [DatabaseModule, SnapshotsModule],
  providers: [CodesService],
  exports: [CodesService],
})
export class LookupsModule {}
