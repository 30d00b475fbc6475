import { LIMITS, MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_BYTES } from '../../problems/limits.js';
import { Problem, malformed } from '../../problems/problem.js';
import { METHODS, type ServiceRequest, isSafe } from '../service-request.js';

const TOO_LONG = new Problem('uri-too-long', {
  detail: `The request target has more than ${LIMITS.target}.`,
});
const TOO_LARGE = new Problem('headers-too-large', {
  detail: `The headers have more than ${LIMITS.headers} or ${LIMITS.headerLines}.`,
});
const TIMEOUT = new Problem('request-timeout', { detail: 'The request did not arrive in time.' });
const EXPECTATION = new Problem('malformed-request', {
  detail: 'The only expectation that can be met is 100-continue.',
  status: 417,
});
const description = 'A body was sent. Send none: the filters are query parameters.';
export const BODY = new Problem('malformed-request', {
  detail: 'The request carries a body. The payload has to be empty.',
  issues: [{ description, field: '', location: 'body' }],
});

export const notAllowed = (allow = METHODS): Problem =>
  new Problem('method-not-allowed', {
    detail: `The methods of this address are ${allow}.`,
    headers: ['Allow', allow],
  });

/** A host with or without a port (RFC 9110 section 7.2): an IPv6 address in brackets, a name, or an IPv4 address. */
const HOST = String.raw`(?:\[[\da-z:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?`;
const HOST_FIELD = new RegExp(`^${HOST}$`, 'i');
/** The beginning of a target in absolute form (RFC 9112 section 3.2.2). The host must not be empty (RFC 9110 section 4.2.1). */
const ORIGIN = new RegExp(String.raw`^https?:\/\/(?![/?:])${HOST}(?=[/?]|$)`, 'i');
/** Visible ASCII without `#`, in origin form or `*` (RFC 9112 section 3.2). */
const TARGET = /^(?:\/[!"$-~]*|\*)$/;

export const toOriginForm = (target: string): string =>
  target.startsWith('/') ? target : target.replace(ORIGIN, '').replace(/^(?=\?|$)/, '/');

/** The first fault in the framing of a request, which Node.js passed on by `event`. The connection closes after the answer. */
export function framingProblem(request: ServiceRequest, event: string): Problem | undefined {
  const { url = '', rawHeaders, httpVersion, method, hasUnreadBody } = request;
  const { host, 'transfer-encoding': coding, expect = '' } = request.headers;
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return malformed('The version of HTTP has to be 1.1 or 1.0.');
  if (url.length > MAX_TARGET_BYTES) return TOO_LONG;
  // Each name and each value is followed by two bytes: a colon and a space, or CRLF
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  if (rawHeaders.length > 2 * MAX_HEADERS || bytes > MAX_HEADER_BYTES) return TOO_LARGE;
  // Two hosts would be joined with a space, which no host holds
  if ((host === undefined && httpVersion === '1.1') || !HOST_FIELD.test(host ?? ''))
    return malformed('The request has to carry one Host header that holds a host (RFC 9112).');
  if (!TARGET.test(toOriginForm(url)))
    return malformed('The request target has to be visible ASCII in origin or absolute form.');
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0'))
    return malformed('The only transfer coding is chunked, in HTTP/1.1.');
  // Whether chunks are empty is known later, but those that wait for 100 (Continue) are not read
  const mayBeEmpty = coding !== undefined && event !== 'checkContinue';
  if (hasUnreadBody && !mayBeEmpty && isSafe(method)) return BODY;
  // Node.js looks for 100-continue anywhere in the value. HTTP/1.0 knows no expectations: there the event is `request`
  return event === 'request' || /^100-continue$/i.test(expect) ? undefined : EXPECTATION;
}

type ParserError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

export function parserProblem({ code = '', rawPacket }: ParserError): Problem | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    // The parser shows only the packet in which the limit was exceeded: it may begin with a target that is too long
    const packet = rawPacket?.toString('latin1') ?? '';
    const [all, target = ''] = /^[A-Z]+ ([^\r\n]*)/.exec(packet) ?? [];
    return all === packet || target.length > MAX_TARGET_BYTES ? TOO_LONG : TOO_LARGE;
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return TIMEOUT;
  if (!code.startsWith('HPE_')) return undefined;
  return malformed('The request breaks the rules of HTTP (RFC 9112).');
}
