import { Module } from '@nestjs/common';
import { LookupsModule } from '../lookups/lookups.module.js';
import { OrderSchedulingController } from './order-scheduling.controller.js';

@Module({ imports: [LookupsModule], controllers: [OrderSchedulingController] })
export class OrderSchedulingModule {}
