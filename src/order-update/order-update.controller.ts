import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import { PATHS } from '../documentation/openapi/operations.js';
import type { Answer } from '../http/answer.js';

@Controller(PATHS.orderUpdate)
export class OrderUpdateController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  getSupportedValues(): Answer {
    return this.codes.supportedValues('order-update');
  }
}
