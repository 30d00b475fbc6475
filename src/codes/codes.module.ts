import { Module } from '@nestjs/common';
import { SnapshotsModule } from '../snapshots/snapshots.module.js';
import { CodesReader } from './codes.reader.js';
import { CodesService } from './codes.service.js';

@Module({
  imports: [SnapshotsModule],
  providers: [CodesReader, CodesService],
  exports: [CodesService],
})
export class CodesModule {}
