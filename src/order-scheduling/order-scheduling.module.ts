import { Module } from '@nestjs/common';
import { LookupsModule } from '../lookups/lookups.module.js';
import { CommunicationCodesQueryParser } from './communication-codes.query.js';
import { OrderSchedulingController } from './order-scheduling.controller.js';

@Module({
  imports: [LookupsModule],
  controllers: [OrderSchedulingController],
  providers: [CommunicationCodesQueryParser],
})
export class OrderSchedulingModule {}
