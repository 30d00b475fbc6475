/** A reason why the program cannot start, as a sentence for its user. */
export class StartError extends Error {}

/** Returns the sentence of an error that the user can correct, or the stack of a fault of the program. */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isCorrectable = error instanceof StartError || 'code' in error;
  return isCorrectable ? error.message : (error.stack ?? error.message);
}
