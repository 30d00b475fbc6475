import { types } from 'node:util';

/**
 * An error whose cause is in the environment or the input, so that a person can mend it. Its message is a whole
 * sentence, which says what was found and how to correct it. The message is printed as it is.
 */
export class OperatorError extends Error {}

/** Returns the message of a thrown value, with its causes. The text may have several lines. */
export function toMessage(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  // Node.js throws an AggregateError if every address of a host refused the connection
  const { errors = [] } = error as Partial<AggregateError>;
  if (errors.length > 0) return errors.map(toMessage).join('; ');
  const message = error.message || error.name;
  const cause = error.cause === undefined ? '' : ` (${toMessage(error.cause)})`;
  return `${message}${cause}`;
}
