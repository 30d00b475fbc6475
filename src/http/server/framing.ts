import { Problem } from '../../problems/problem.js';
import { MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_BYTES } from '../../problems/limits.js';
import type { ServiceRequest } from '../service-request.js';

const malformed = (detail: string): Problem => new Problem('malformed-request', { detail });
const tooLarge = (detail: string): Problem => new Problem('headers-too-large', { detail });

/** Methods whose requests must not have a body. Requests with other methods get 405 in any case. */
export const isBodiless = (method: string | undefined): boolean =>
  method === 'GET' || method === 'HEAD' || method === 'OPTIONS';

export const bodyProblem = (): Problem =>
  new Problem('malformed-request', {
    detail: 'The request carries a body. The payload has to be empty.',
    issues: [
      {
        description: 'A body was sent. Send none: the filters are query parameters.',
        field: '',
        location: 'body',
      },
    ],
  });

/** A host with or without a port (RFC 9110 section 7.2): an IPv6 address in brackets, a name, or an IPv4 address. */
const HOST = String.raw`(?:\[[\da-z:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?`;
const HOST_FIELD = new RegExp(`^${HOST}$`, 'i');
/** The beginning of a target in absolute form (RFC 9112 section 3.2.2). The host must not be empty (RFC 9110 section 4.2.1). */
const ORIGIN = String.raw`https?:\/\/(?![/?:])${HOST}(?=[/?]|$)`;
/** Visible ASCII without `#`, in origin form, absolute form or `*` (RFC 9112 section 3.2). */
const TARGET = new RegExp(`^(?:(?:/|${ORIGIN})[!"$-~]*|\\*)$`, 'i');
const ABSOLUTE = new RegExp(`^${ORIGIN}`, 'i');

/** The path and query of a target. The host in an absolute target is ignored. */
export function toOriginForm(target: string): string {
  if (target.startsWith('/') || target === '*') return target;
  const rest = target.replace(ABSOLUTE, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** The first fault in the framing of a request, in the order: version, size, host, target, body. The connection closes after the answer. */
export function framingProblem(request: ServiceRequest): Problem | undefined {
  const { url = '', rawHeaders, httpVersion, method } = request;
  const { host: hosts = [], 'content-length': [length = 0] = [] } = request.headersDistinct;
  const coding = request.field('transfer-encoding');
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return malformed('The version of HTTP has to be 1.1 or 1.0.');
  if (url.length > MAX_TARGET_BYTES)
    return new Problem('uri-too-long', {
      detail: `The request target has more than ${MAX_TARGET_BYTES} bytes.`,
    });
  if (rawHeaders.length > 2 * MAX_HEADERS)
    return tooLarge(`The request has more than ${MAX_HEADERS} header lines.`);
  // Each name and each value is followed by two bytes: a colon and a space, or CRLF
  if (rawHeaders.reduce((sum, { length: bytes }) => sum + bytes + 2, 0) > MAX_HEADER_BYTES)
    return tooLarge(`The headers have more than ${MAX_HEADER_BYTES} bytes.`);
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion === '1.1'))
    return malformed('The request has to carry one Host header (RFC 9112 section 3.2).');
  if (!HOST_FIELD.test(hosts[0] ?? ''))
    return malformed('The Host header has to hold a host, with a port or without.');
  if (!TARGET.test(url))
    return malformed(
      'The request target has to be visible ASCII in origin or absolute form. Percent-encode everything else.',
    );
  if (coding === undefined)
    return Number(length) > 0 && isBodiless(method) ? bodyProblem() : undefined;
  if (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')
    return malformed('The only transfer coding is chunked, in HTTP/1.1.');
  return undefined;
}
