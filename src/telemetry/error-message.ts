/**
 * An error whose cause is in the environment or the input, so that a person can mend it. Its message is a whole
 * sentence, which says what was found and how to correct it. The message is printed as it is.
 */
export class OperatorError extends Error {}

/** Returns the message of a thrown value, with its causes. The text may have several lines. */
export function toMessage(error: unknown): string {
  // Node.js throws an AggregateError if every address of a host refused the connection
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.map(toMessage).join('; ');
  }
  if (!(error instanceof Error)) return String(error);
  const message = error.message || error.name;
  const cause = error.cause === undefined ? '' : ` (${toMessage(error.cause)})`;
  return `${message}${cause}`;
}
