import { type ExecutionContext, SetMetadata } from '@nestjs/common';

const OPEN = 'open';

/** Opens a controller to everyone. What is open holds no data: documentation and explanations. */
export const Open = (): ClassDecorator => SetMetadata(OPEN, true);

export const isOpen = (context: ExecutionContext): boolean => Reflect.getMetadata(OPEN, context.getClass()) === true;
