import { Controller, type ExecutionContext, Get, createParamDecorator } from '@nestjs/common';
import { CodesService } from '../codes/codes.service.js';
import type { Filters } from '../codes/filters.js';
import { PATHS } from '../documentation/openapi/operations.js';
import type { Answer } from '../http/answer.js';
import type { ServiceRequest } from '../http/service-request.js';
import { readFilters } from './read-filters.js';

/** The checked filters of the request. They are read after the guard, so callers without credentials learn nothing about them. */
const QueryFilters = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const { originalUrl, head } = context.switchToHttp().getRequest<ServiceRequest>();
  return readFilters(originalUrl, head.apiKey);
});

@Controller(PATHS.communicationCodes)
export class OrderSchedulingController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  listCommunicationCodes(@QueryFilters() filters: Filters): Answer | Promise<Answer> {
    return this.codes.communicationCodes(filters);
  }
}
