import { Module } from '@nestjs/common';
import { LastGoodFolder } from './last-good-folder.js';
import { SnapshotsService } from './snapshots.service.js';

@Module({
  providers: [LastGoodFolder, SnapshotsService],
  exports: [LastGoodFolder, SnapshotsService],
})
export class SnapshotsModule {}
