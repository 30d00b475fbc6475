/**
 * An error that a person can mend, in the environment or the input. Its message is a whole sentence, which says what was
 * found and how to correct it. It is printed as it is.
 */
export class OperatorError extends Error {}

/** The codes of Node.js's errors for a certificate that no known CA has signed. */
const UNKNOWN_CA = /^(SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED_|UNABLE_TO_(GET_ISSUER|VERIFY))/;
const UNKNOWN_CA_REMEDY =
  ": the CA of the server's certificate is not known here. " +
  'Name the file of the CA in NODE_EXTRA_CA_CERTS, for PostgreSQL in sslrootcert of the connection string';

/** Returns the message of a thrown value, with its causes. The text may have several lines. */
export function toMessage(error: unknown): string {
  // Node.js throws an AggregateError if every address of a host refused the connection
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.map(toMessage).join('; ');
  }
  if (!(error instanceof Error)) return String(error);
  const message = error.message || error.name;
  const cause = error.cause === undefined ? '' : ` (${toMessage(error.cause)})`;
  const isUnknownCa = 'code' in error && UNKNOWN_CA.test(String(error.code));
  return isUnknownCa ? `${message}${UNKNOWN_CA_REMEDY}${cause}` : `${message}${cause}`;
}
