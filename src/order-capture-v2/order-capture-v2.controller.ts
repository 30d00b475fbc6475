import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import { PATHS } from '../documentation/openapi/operations.js';
import type { Answer } from '../http/answer.js';

@Controller(PATHS.orderCaptureV2)
export class OrderCaptureV2Controller {
  constructor(private readonly codes: CodesService) {}

  @Get()
  getSupportedValues(): Answer {
    return this.codes.supportedValues('order-capture-v2');
  }
}
