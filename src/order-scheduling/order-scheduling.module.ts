import { Module } from '@nestjs/common';
import { CodesModule } from '../lookups/codes.module.js';
import { OrderSchedulingController } from './order-scheduling.controller.js';

@Module({ imports: [CodesModule], controllers: [OrderSchedulingController] })
export class OrderSchedulingModule {}
