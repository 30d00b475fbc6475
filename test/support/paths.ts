import { PATHS } from '../../src/documentation/openapi/operations.js';

export { PATHS };
export const ALL_PATHS = Object.values(PATHS);
