import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import { DocumentedLookup } from '../documentation/openapi/lookup.decorator.js';
import type { Answer } from '../http/answer.js';

@Controller('orders-api-v2/v2/supported-values')
export class OrderCaptureV2Controller {
  constructor(private readonly codes: CodesService) {}

  @DocumentedLookup({
    operationId: 'getOrderCaptureSupportedValues',
    area: 'order capture',
    summary: 'Get supported values (order capture area, version 2)',
    description:
      'Returns the valid type codes and enumerated values for the order capture interface.',
    ok: 'Supported values retrieved',
    schema: 'OrderCaptureSupportedValues',
  })
  @Get()
  getSupportedValues(): Answer {
    return this.codes.supportedValues('order-capture-v2');
  }
}
