import { types } from 'node:util';

/** The program cannot start. The message tells the user why, and what to do. */
export class StartError extends Error {}

/** Returns the message of an error that the user can correct, or the stack if the program itself is faulty. */
export function describeStartFailure(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  const isCorrectable = error instanceof StartError || isOfEnvironment(error);
  return isCorrectable ? error.message : (error.stack ?? error.message);
}

/** Returns whether the environment caused the error. Such an error has a code, such as ENOSPC or PostgreSQL's 57P01. */
function isOfEnvironment(error: Error): boolean {
  const isOfProgram = ['TypeError', 'RangeError'].includes(error.name); // Node.js gives such errors a code, too
  return 'code' in error && !isOfProgram;
}
