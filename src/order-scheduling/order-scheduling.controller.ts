import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import type { Answer } from '../http/answer.js';
import { CommunicationCodesQuery } from './communication-codes.query.js';
import { Filters } from './filters.decorator.js';

@Controller('order-scheduling/communication-codes')
export class OrderSchedulingController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  listCommunicationCodes(@Filters() filters: CommunicationCodesQuery): Answer | Promise<Answer> {
    return this.codes.communicationCodes(filters);
  }
}
