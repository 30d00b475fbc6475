import { Controller, Get } from '@nestjs/common';
import type { Answer } from '../http/answer.js';
import { CodesService } from '../lookups/codes.service.js';
import { createNotReadyProblem } from '../problems/problem.js';

/** The path is part of the contract, documentation/openapi.yaml. */
@Controller('orders-api-v2/v2/supported-values')
export class OrderCaptureV2Controller {
  constructor(private readonly codes: CodesService) {}

  @Get()
  getSupportedValues(): Answer {
    const answer = this.codes.getSupportedValues('order-capture-v2');
    if (!answer) throw createNotReadyProblem(this.codes.absenceReason);
    return answer;
  }
}
