import type { OpenAPIObject } from '@nestjs/swagger';

interface Reference {
  $ref: string;
}
type Components = NonNullable<OpenAPIObject['components']>;

/** Types of parts of an OpenAPI document that the package does not export. */
export type SchemaObject = Exclude<NonNullable<Components['schemas']>[string], Reference>;
export type ResponseObject = Exclude<NonNullable<Components['responses']>[string], Reference>;
export type Headers = NonNullable<ResponseObject['headers']>;
