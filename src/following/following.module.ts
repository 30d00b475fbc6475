import { Module } from '@nestjs/common';
import { DatabaseModule } from '../database/database.module.js';
import { ClockWatch } from './clock-watch.js';
import { DatabaseClock } from './database-clock.js';
import { FollowingService } from './following.service.js';

@Module({
  imports: [DatabaseModule],
  providers: [ClockWatch, DatabaseClock, FollowingService],
  exports: [DatabaseClock, FollowingService],
})
export class FollowingModule {}
