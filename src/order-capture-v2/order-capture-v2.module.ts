import { Module } from '@nestjs/common';
import { CodesModule } from '../lookups/codes.module.js';
import { OrderCaptureV2Controller } from './order-capture-v2.controller.js';

@Module({ imports: [CodesModule], controllers: [OrderCaptureV2Controller] })
export class OrderCaptureV2Module {}
