import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../lookups/codes.service.js';
import type { Answer } from '../http/answer.js';

@Controller('orders-update-api/supported-values')
export class OrderUpdateController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  getSupportedValues(): Answer {
    return this.codes.supportedValues('order-update');
  }
}
