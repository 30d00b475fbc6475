import { Controller, type ExecutionContext, Get, createParamDecorator } from '@nestjs/common';
import { CodesService } from '../lookups/codes.service.js';
import type { Answer } from '../http/answer.js';
import type { ServiceRequest } from '../http/service-request.js';
import { CommunicationCodesQueryPipe } from './communication-codes-query.pipe.js';
import type { CommunicationCodesQuery } from './communication-codes.query.js';

/** Its pipe runs after the guard, so callers without credentials learn nothing about their query. */
const CheckedQuery = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  context.switchToHttp().getRequest<ServiceRequest>(),
);

@Controller('order-scheduling/communication-codes')
export class OrderSchedulingController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  listCommunicationCodes(
    @CheckedQuery(CommunicationCodesQueryPipe) query: CommunicationCodesQuery,
  ): Answer | Promise<Answer> {
    return this.codes.communicationCodes(query);
  }
}
