import { SetMetadata } from '@nestjs/common';

/** Read by Nest's Reflector, in the guard. */
export const PUBLIC = 'public';

/** Makes a controller public: no credentials are needed. Only documentation may be public. */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);
