import { Controller, Get } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import type { Filters } from '../codes/communication-codes/filters.js';
import { PATHS } from '../documentation/openapi/operations.js';
import type { Answer } from '../http/answer.js';
import { QueryFilters } from './query-filters.decorator.js';

@Controller(PATHS.communicationCodes)
export class OrderSchedulingController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  listCommunicationCodes(@QueryFilters() filters: Filters): Answer | Promise<Answer> {
    return this.codes.communicationCodes(filters);
  }
}
