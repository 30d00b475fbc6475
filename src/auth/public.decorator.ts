import { type ExecutionContext, SetMetadata } from '@nestjs/common';

const PUBLIC = 'public';

/** Makes a controller public: no credentials are needed. Only documentation may be public. */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);

export const isPublic = (context: ExecutionContext): boolean =>
  Reflect.getMetadata(PUBLIC, context.getClass()) === true;
