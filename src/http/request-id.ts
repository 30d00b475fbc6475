import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const UUID_WITHOUT_DASHES = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i;

/** X-Request-Id counts only if it is a UUID, because `instance` of a problem document is `urn:uuid:<request id>`. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const sent = headers['x-request-id'];
  if (typeof sent !== 'string') return randomUUID();
  const id = sent.replace(UUID_WITHOUT_DASHES, '$1-$2-$3-$4-$5');
  return UUID.test(id) ? id : randomUUID();
}
