import { Module } from '@nestjs/common';
import { FollowingModule } from '../following/following.module.js';
import { CodesService } from './codes.service.js';

@Module({
  imports: [FollowingModule],
  providers: [CodesService],
  exports: [CodesService],
})
export class LookupsModule {}
