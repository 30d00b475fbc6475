import { type ExecutionContext, applyDecorators, createParamDecorator } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import type { ServiceRequest } from '../http/service-request.js';
import { MAX_FILTER_CHARACTERS } from '../problems/limits.js';
import { FILTERS, readFilters } from './read-filters.js';

/** The checked filters of the request. They are read after the guard, so callers without credentials learn nothing about them. */
export const QueryFilters = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const { originalUrl, head } = context.switchToHttp().getRequest<ServiceRequest>();
  return readFilters(originalUrl, head.apiKey);
});

export const DocumentedFilters = (): MethodDecorator =>
  applyDecorators(
    ...Object.entries(FILTERS).map(([name, description]) =>
      ApiQuery({
        name,
        required: false,
        description,
        schema: { type: 'string', minLength: 1, maxLength: MAX_FILTER_CHARACTERS },
      }),
    ),
  );
