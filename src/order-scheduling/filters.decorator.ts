import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { ServiceRequest } from '../http/service-request.js';
import { filtersOf } from './communication-codes.query.js';

/** The checked filters of the request. Parameters are read after the guard, so a stranger learns nothing about them. */
export const Filters = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  filtersOf(context.switchToHttp().getRequest<ServiceRequest>().originalUrl),
);
