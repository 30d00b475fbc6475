import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import type { Filters } from '../codes/communication-codes/communication-codes.js';
import { DocumentedLookup } from '../documentation/openapi/lookup.decorator.js';
import type { Answer } from '../http/answer.js';
import { DocumentedFilters, QueryFilters } from './filters.js';

@Controller('order-scheduling/communication-codes')
export class OrderSchedulingController {
  constructor(private readonly codes: CodesService) {}

  @DocumentedLookup({
    operationId: 'listCommunicationCodes',
    area: 'order scheduling',
    summary: 'List communication code records',
    description:
      'Returns status and usage code records for communication functions, optionally filtered by code type and code.',
    ok: 'The records that match; none is an empty list',
    schema: 'CommunicationCodeQueryResponse',
  })
  @DocumentedFilters()
  @Get()
  listCommunicationCodes(@QueryFilters() filters: Filters): Answer | Promise<Answer> {
    return this.codes.communicationCodes(filters);
  }
}
