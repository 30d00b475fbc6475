import { Reflector } from '@nestjs/core';

/** Makes a controller, or one of its methods, public: no credentials are needed. A test lists what is public. */
export const Public = Reflector.createDecorator({ transform: () => true });
