// Limits of connections. Those that callers are told of stand in problems/limits.ts; Node's own limit on the header section is higher, so that the answer can say
// which part is too long.

/** Bytes at which Node's parser stops reading a request line and its headers. */
export const PARSER_HEADER_BYTES = 32 * 1024;
export const TIMEOUT_CHECK_MS = 1_000;
/** Longer than the idle time-out of common load balancers (60 s), so that the balancer closes first and does not use a closed connection. */
export const KEEP_ALIVE_MS = 75_000;
/** A connection without any traffic for this time is closed, also if the client does not read an answer. */
export const STALLED_MS = 30_000;
/** How many requests of a connection may wait for the end of their answers. */
export const MAX_WAITING = 100;
export const MAX_CONNECTIONS = 10_000;
/** File descriptors that are kept free for the database, the issuer, the log and the management port. */
export const RESERVED_DESCRIPTORS = 64;
/** How long clients may continue to read answers under way when the service ends. */
export const CLOSE_MS = 4_000;
