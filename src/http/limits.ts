// What a request may cost (docs/integrators.md, "Limits"). Node's own limit on the header is set higher, so that the answer can say which part is too long.
export {
  HEADERS_TIMEOUT_MS,
  MAX_HEADERS,
  MAX_HEADER_BYTES,
  MAX_TARGET_BYTES,
  REQUEST_TIMEOUT_MS,
} from '../problems/limits.js';

/** Bytes at which Node's parser stops reading a request line and its headers. */
export const PARSER_HEADER_BYTES = 32 * 1024;
export const TIMEOUT_CHECK_MS = 1_000;
/** Longer than the idle time of common load balancers (60 s), so that they close first and never meet a closed connection. */
export const KEEP_ALIVE_MS = 75_000;
/** A connection on which nothing moves for so long, an answer that is not read among them, is closed. */
export const STALLED_MS = 30_000;
/** Descriptors left for the database, the issuer, the log and the management port. */
export const RESERVED_DESCRIPTORS = 64;
export const MAX_CONNECTIONS = 10_000;
/** How long clients may still take answers that are under way when the service ends. */
export const CLOSE_MS = 4_000;
