import type { IncomingHttpHeaders } from 'node:http';

/**
 * What the propagator of @opentelemetry/core accepts (W3C Trace Context, section 3.2). It is repeated here, and kept
 * equal by a test, because the log needs it where traces are off, and loading that package delays each start.
 */
const TRACEPARENT =
  /^\s?(?!ff)(?<version>[\da-f]{2})-(?!0{32})(?<traceId>[\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?<more>-.*)?\s?$/;

/** The trace that a caller names. Anything else that it sends is free text, and stays out of the log. */
export function traceIdOf(headers: IncomingHttpHeaders): string | undefined {
  const text = headers['traceparent'];
  if (typeof text !== 'string') return undefined;
  const parts = TRACEPARENT.exec(text)?.groups;
  if (!parts) return undefined;
  const isMalformed = parts['version'] === '00' && parts['more'] !== undefined; // only later versions may have more
  return isMalformed ? undefined : parts['traceId'];
}
