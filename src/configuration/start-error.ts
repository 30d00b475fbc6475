/** A reason why the program cannot start, as a sentence for its user. */
export class StartError extends Error {}

/** The sentence of an error that the user can correct; the stack of one that is a fault of the program. */
export function describeStartFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isCorrectable = error instanceof StartError || 'code' in error;
  return isCorrectable ? error.message : (error.stack ?? error.message);
}
