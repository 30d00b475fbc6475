import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';

interface Lookup {
  readonly operationId: string;
  readonly area: string;
  readonly summary: string;
  readonly description: string;
  /** What 200 means, in the interface document's words. */
  readonly ok: string;
  /** Name among the schemas of the document. */
  readonly schema: string;
}

/** Documents one of the three operations. What all of them share is added to the whole document. */
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
