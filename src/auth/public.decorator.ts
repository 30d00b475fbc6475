import { Reflector } from '@nestjs/core';

/** Makes a controller, or one of its methods, public: no credentials are needed. Only documentation may be public. */
export const Public = Reflector.createDecorator({ transform: () => true });
