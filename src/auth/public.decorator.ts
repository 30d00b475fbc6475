import { Reflector } from '@nestjs/core';

/** Opens a controller, or one of its methods, to callers without credentials. A test lists all open routes. */
export const Public = Reflector.createDecorator({ transform: () => true });
