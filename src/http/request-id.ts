import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const UUID_WITHOUT_DASHES = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i;

/**
 * The UUID in X-Request-Id, with dashes, or a new one. No other text counts: `instance` of a problem is
 * `urn:uuid:<request id>`, and the id stands unescaped in a header and in the log.
 */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const field = headers['x-request-id'];
  if (typeof field !== 'string') return randomUUID();
  const id = field.replace(UUID_WITHOUT_DASHES, '$1-$2-$3-$4-$5');
  return UUID.test(id) ? id : randomUUID();
}
