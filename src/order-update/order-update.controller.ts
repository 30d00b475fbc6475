import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import { DocumentedLookup } from '../documentation/openapi/lookup.decorator.js';
import type { Answer } from '../http/answer.js';

@Controller('orders-update-api/supported-values')
export class OrderUpdateController {
  constructor(private readonly codes: CodesService) {}

  @DocumentedLookup({
    operationId: 'getOrderUpdateSupportedValues',
    area: 'order update',
    summary: 'Get supported values (order update area)',
    description:
      'Returns the valid type codes and enumerated values accepted by the order update interface.',
    ok: 'Valid codes supported by this API',
    schema: 'OrderUpdateSupportedValues',
  })
  @Get()
  getSupportedValues(): Answer {
    return this.codes.supportedValues('order-update');
  }
}
