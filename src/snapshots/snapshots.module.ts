import { Module } from '@nestjs/common';
import { DatabaseModule } from '../database/database.module.js';
import { LastGoodFolder } from './last-good-folder.js';
import { SnapshotsService } from './snapshots.service.js';

@Module({
  imports: [DatabaseModule],
  providers: [LastGoodFolder, SnapshotsService],
  exports: [LastGoodFolder, SnapshotsService],
})
export class SnapshotsModule {}
