import type { NextFunction, Request, Response } from 'express';
import { LIMITS, MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_BYTES } from '../problems/limits.js';
import { Problem, malformed } from '../problems/problem.js';

const CREDENTIAL_HEADERS = ['Api-Key', 'Authorization'];
/** Their requests have no body here, and a body parser is not asked. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD', 'OPTIONS'];

/** A name, an IPv4 address or an IPv6 address in brackets, with or without a port (RFC 9110 section 7.2). */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** Origin form, `*`, or absolute form of HTTP without user information (RFC 9112 section 3.2, RFC 9110 4.2.4). */
const TARGET = /^(?:\/|\*$|https?:\/\/[^/?#@]+(?:[/?]|$))/i;

type Check = (request: Request) => Problem | undefined;

/** In this order, the first problem is the answer. */
const CHECKS: readonly Check[] = [
  checkVersion,
  checkTarget,
  checkHeaderSize,
  checkHost,
  checkCredentialHeaders,
  checkTransferCoding,
  checkExpectation,
  checkBody,
];

/** Refuses what no part of the service takes, before anything else looks at the request. */
export function requestLimits(request: Request, response: Response, next: NextFunction): void {
  for (const check of CHECKS) {
    const problem = check(request);
    if (problem) {
      response.setHeader('Connection', 'close'); // what follows may be a body
      next(problem);
      return;
    }
  }
  next();
}

function checkVersion({ httpVersion }: Request): Problem | undefined {
  if (['1.0', '1.1'].includes(httpVersion)) return undefined;
  return malformed('The request has to be in HTTP/1.1 or HTTP/1.0.');
}

function checkTarget({ url, originalUrl }: Request): Problem | undefined {
  if (originalUrl.length > MAX_TARGET_BYTES)
    return new Problem('uri-too-long', {
      detail: `The request target has more than ${LIMITS.target}.`,
    });
  // They differ where the server adapter replaced a target that Express cannot route
  if (url === originalUrl && TARGET.test(originalUrl) && !originalUrl.includes('#'))
    return undefined;
  return malformed('The request target has to be in origin or absolute form, without a fragment.');
}

function checkHeaderSize({ rawHeaders }: Request): Problem | undefined {
  // Each name and each value is followed by two bytes: a colon and a space, or CRLF
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  if (rawHeaders.length <= 2 * MAX_HEADERS && bytes <= MAX_HEADER_BYTES) return undefined;
  return new Problem('headers-too-large', {
    detail: `The headers have more than ${LIMITS.headers} or ${LIMITS.headerLines}.`,
  });
}

function checkHost({ rawHeaders, headers, httpVersion }: Request): Problem | undefined {
  const count = countLines(rawHeaders, 'Host');
  if (count === 0 && httpVersion === '1.0') return undefined;
  if (count === 1 && HOST.test(headers.host ?? '')) return undefined;
  return malformed('The request has to carry one Host header that holds a host (RFC 9112).');
}

/** Neither holds a comma: one line with a comma may be two lines that somebody joined (RFC 9110 section 5.3). */
function checkCredentialHeaders({ rawHeaders, headers }: Request): Problem | undefined {
  const repeated = CREDENTIAL_HEADERS.filter(
    (name) =>
      countLines(rawHeaders, name) > 1 || headers[name.toLowerCase()]?.includes(',') === true,
  );
  if (repeated.length === 0) return undefined;
  return malformed(
    'A credential header was sent more than once.',
    repeated.map((field) => ({
      description: `${field} was sent more than once: send it once.`,
      field,
      location: 'header',
    })),
  );
}

/** With any other, an intermediary may see a request where Node.js sees a body (RFC 9112 section 6.1). */
function checkTransferCoding({ headers, httpVersion }: Request): Problem | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (coding.toLowerCase() === 'chunked' && httpVersion === '1.1') return undefined;
  return malformed('The only transfer coding is chunked, in HTTP/1.1.');
}

/** HTTP/1.0 has no expectations (RFC 9110 section 10.1.1). */
function checkExpectation({ headers, httpVersion }: Request): Problem | undefined {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0') return undefined;
  if (expect.toLowerCase() === '100-continue') return undefined;
  return new Problem('malformed-request', {
    detail: 'The only expectation that can be met is 100-continue.',
    status: 417,
  });
}

function checkBody({ method, headers }: Request): Problem | undefined {
  if (!METHODS_WITHOUT_BODY.includes(method)) return undefined;
  const length = Number(headers['content-length'] ?? 0);
  if (length === 0 && headers['transfer-encoding'] === undefined) return undefined;
  return malformed('The request carries a body. The payload has to be empty.', [
    {
      description: 'A body was sent. Send none: the filters are query parameters.',
      field: '',
      location: 'body',
    },
  ]);
}

/** Node.js keeps only the first of some repeated headers, so the lines as they came are looked at. */
function countLines(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === name.toLowerCase()) count += 1;
  return count;
}
