import { Module } from '@nestjs/common';
import { LookupsModule } from '../lookups/lookups.module.js';
import { OrderCaptureV2Controller } from './order-capture-v2.controller.js';

@Module({ imports: [LookupsModule], controllers: [OrderCaptureV2Controller] })
export class OrderCaptureV2Module {}
