import { Controller, Get, Req } from '@nestjs/common';
import type { Request } from 'express';
import type { Answer } from '../http/answer.js';
import { CodesService } from '../lookups/codes.service.js';
import { createNotReadyProblem } from '../problems/problem.js';
import { CommunicationCodesQueryParser } from './communication-codes.query.js';

/** The path is part of the contract, documentation/openapi.yaml. */
@Controller('order-scheduling/communication-codes')
export class OrderSchedulingController {
  constructor(
    private readonly codes: CodesService,
    private readonly queryParser: CommunicationCodesQueryParser,
  ) {}

  @Get()
  listCommunicationCodes(@Req() request: Request): Answer {
    const query = this.queryParser.parse(request.url);
    const answer = this.codes.getCommunicationCodes(query);
    if (!answer) throw createNotReadyProblem(this.codes.absenceReason);
    return answer;
  }
}
