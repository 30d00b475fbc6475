import { type ExecutionContext, SetMetadata } from '@nestjs/common';

const PUBLIC = 'public';

/** Opens a controller to everyone. What is open holds no data: documentation and explanations. */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);

export const isPublic = (context: ExecutionContext): boolean =>
  Reflect.getMetadata(PUBLIC, context.getClass()) === true;
