import { Controller, Get } from '@nestjs/common';
import type { Answer } from '../http/answer.js';
import { CodesService } from '../lookups/codes.service.js';
import { createNotReadyProblem } from '../problems/problem.js';
import { CommunicationCodesQuery, CommunicationCodesQueryPipe, RequestTarget } from './communication-codes.query.js';

/** The path is part of the contract, documentation/openapi.yaml. */
@Controller('order-scheduling/communication-codes')
export class OrderSchedulingController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  listCommunicationCodes(@RequestTarget(CommunicationCodesQueryPipe) query: CommunicationCodesQuery): Answer {
    const answer = this.codes.communicationCodes(query);
    if (!answer) throw createNotReadyProblem(this.codes.absenceReason);
    return answer;
  }
}
