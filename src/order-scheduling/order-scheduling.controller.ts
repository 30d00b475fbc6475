import { Controller, Get } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { CodesService } from '../codes/codes.service.js';
import { DocumentedLookup } from '../documentation/openapi/lookup.decorator.js';
import type { Answer } from '../http/answer.js';
import { CommunicationCodesQuery } from './communication-codes.query.js';
import { Filters } from './filters.decorator.js';

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
  @ApiQuery({
    name: 'code',
    required: false,
    description: 'Communication code record to be retrieved.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  })
  @ApiQuery({
    name: 'codeType',
    required: false,
    description: 'Type of communication code record to be retrieved.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  })
  @Get()
  listCommunicationCodes(@Filters() filters: CommunicationCodesQuery): Answer | Promise<Answer> {
    return this.codes.communicationCodes(filters);
  }
}
