import { Controller, Get } from '@nestjs/common';
import type { Answer } from '../http/answer.js';
import { CodesService } from '../lookups/codes.service.js';
import { createNotReadyProblem } from '../problems/problem.js';

/** The path is part of the contract, documentation/openapi.yaml. */
@Controller('orders-update-api/supported-values')
export class OrderUpdateController {
  constructor(private readonly codes: CodesService) {}

  @Get()
  getSupportedValues(): Answer {
    const answer = this.codes.getSupportedValues('order-update');
    if (!answer) throw createNotReadyProblem(this.codes.absenceReason);
    return answer;
  }
}
