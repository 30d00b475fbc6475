import { Module } from '@nestjs/common';
import { CodesModule } from '../lookups/codes.module.js';
import { SnapshotsModule } from '../snapshots/snapshots.module.js';
import { LastGoodService } from './last-good.service.js';

@Module({ imports: [CodesModule, SnapshotsModule], providers: [LastGoodService] })
export class LastGoodModule {}
