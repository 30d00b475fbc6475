import { Module } from '@nestjs/common';
import { LookupsModule } from '../lookups/lookups.module.js';
import { OrderUpdateController } from './order-update.controller.js';

@Module({ imports: [LookupsModule], controllers: [OrderUpdateController] })
export class OrderUpdateModule {}
