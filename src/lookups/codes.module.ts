import { Module } from '@nestjs/common';
import { SnapshotsModule } from '../snapshots/snapshots.module.js';
import { CodesService } from './codes.service.js';

@Module({ imports: [SnapshotsModule], providers: [CodesService], exports: [CodesService] })
export class CodesModule {}
