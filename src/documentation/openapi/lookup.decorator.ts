import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';

interface Lookup {
  readonly operationId: string;
  readonly area: string;
  readonly summary: string;
  readonly description: string;
  /** The description of 200 in the interface document. */
  readonly ok: string;
  /** Name of its schema. */
  readonly schema: string;
}

/** Documents one of the three operations. Parts that all operations share are added by createOpenApiDocument. */
export const DocumentedLookup = ({
  operationId,
  area,
  summary,
  description,
  ok,
  schema,
}: Lookup): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId, summary, description, tags: [area] }),
    ApiOkResponse({
      description: ok,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
    }),
  );
