import { types } from 'node:util';

/** The program cannot start. The message tells the user why, and what to do. */
export class StartError extends Error {}

/** Returns the message of an error that the user can correct, or the stack if the program itself is faulty. */
export function describeStartFailure(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  const isCorrectable = error instanceof StartError || 'code' in error; // such as EADDRINUSE for a taken port
  return isCorrectable ? error.message : (error.stack ?? error.message);
}
