import { type ExecutionContext, createParamDecorator } from '@nestjs/common';
import type { ServiceRequest } from '../http/service-request.js';
import { readFilters } from './read-filters.js';

/** The checked filters of the request. They are read after the guard, so callers without credentials learn nothing about them. */
export const QueryFilters = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const { originalUrl, head } = context.switchToHttp().getRequest<ServiceRequest>();
  return readFilters(originalUrl, head.apiKey);
});
