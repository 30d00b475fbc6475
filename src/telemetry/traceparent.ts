import type { IncomingHttpHeaders } from 'node:http';

/**
 * What the propagator of @opentelemetry/core accepts (W3C Trace Context, section 3.2). It is repeated here, and kept
 * equal by a test, because the log needs it where traces are off, and loading that package delays each start.
 */
const TRACEPARENT =
  /^\s?(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?\s?$/;

/** The trace that a caller names. Anything else that it sends is free text, and stays out of the log. */
export function traceIdOf(headers: IncomingHttpHeaders): string | undefined {
  const text = headers['traceparent'];
  if (typeof text !== 'string') return undefined;
  const [, version, traceId, more] = TRACEPARENT.exec(text) ?? [];
  const isMalformed = version === '00' && more !== undefined; // only later versions may have more parts
  return isMalformed ? undefined : traceId;
}
