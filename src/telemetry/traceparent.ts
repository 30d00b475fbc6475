import type { IncomingHttpHeaders } from 'node:http';

// The parts of a traceparent (W3C Trace Context, section 3.2). A version of `ff`, and ids of zeros, are not valid.
const VERSION = '(?!ff)(?<version>[0-9a-f]{2})';
const TRACE_ID = '(?!0{32})(?<traceId>[0-9a-f]{32})';
const PARENT_ID = '(?!0{16})[0-9a-f]{16}';
const FLAGS = '[0-9a-f]{2}';
/** Versions after 00 may append further parts. */
const FURTHER_PARTS = '(?<furtherParts>-.*)?';

/**
 * The form that the propagator of @opentelemetry/core accepts. It is repeated here because the log needs it where
 * traces are off, and to load that package would delay each start. A test keeps the two equal.
 */
const TRACEPARENT = new RegExp(`^\\s?${VERSION}-${TRACE_ID}-${PARENT_ID}-${FLAGS}${FURTHER_PARTS}\\s?$`);

/** The trace that a caller names, or undefined. A field of another form is free text, which stays out of the log. */
export function traceIdOf(headers: IncomingHttpHeaders): string | undefined {
  const field = headers['traceparent'];
  if (typeof field !== 'string') return undefined;
  const parts = TRACEPARENT.exec(field)?.groups;
  if (!parts) return undefined;
  const hasFurtherParts = parts['furtherParts'] !== undefined;
  if (parts['version'] === '00' && hasFurtherParts) return undefined;
  return parts['traceId'];
}
