import { Module } from '@nestjs/common';
import { CodesModule } from '../lookups/codes.module.js';
import { LastGoodService } from './last-good.service.js';

@Module({ imports: [CodesModule], providers: [LastGoodService] })
export class LastGoodModule {}
