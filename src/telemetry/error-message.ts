/** Codes of Node's TLS for a certificate that no known CA has signed. */
const UNKNOWN_CA = /^(SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED_|UNABLE_TO_(GET_ISSUER|VERIFY))/;
const REMEDY =
  ": the CA of the server's certificate is not known here. Name the file of the CA in NODE_EXTRA_CA_CERTS, for PostgreSQL in sslrootcert of the connection string";

/** One line about an error. For an AggregateError (every address refused) it joins the messages of its parts. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(messageOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : ` (${messageOf(error.cause)})`;
  const remedy = UNKNOWN_CA.test(String((error as NodeJS.ErrnoException).code)) ? REMEDY : '';
  return `${error.message || error.name}${remedy}${cause}`;
}
