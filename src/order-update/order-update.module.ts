import { Module } from '@nestjs/common';
import { CodesModule } from '../lookups/codes.module.js';
import { OrderUpdateController } from './order-update.controller.js';

@Module({ imports: [CodesModule], controllers: [OrderUpdateController] })
export class OrderUpdateModule {}
