import type { NextFunction, Request, Response } from 'express';
import { LIMITS, MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_BYTES } from '../problems/limits.js';
import { type Issue, Problem } from '../problems/problem.js';

const CREDENTIAL_HEADERS = ['Api-Key', 'Authorization'];
/** Methods whose requests have no body here. A body is refused before a body parser is asked. */
const METHODS_WITHOUT_BODY = ['GET', 'HEAD', 'OPTIONS'];

/** A host: a name, an IPv4 address or an IPv6 address in brackets, with or without a port (RFC 9110 section 7.2). */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** The characters of a target. The parsers of Node.js 20.19.0 and 20.19.1 let others pass. */
const TARGET_CHARACTERS = /^[\x21-\x7e]+$/;

/** The absolute form of a target (RFC 9112 section 3.2.2). */
const ABSOLUTE_TARGET = /^https?:\/\/(?<host>[^/?]+)/i;

type Check = (request: Request) => Problem | undefined;

/** The checks in the order in which they are made. The first problem is the answer. */
const CHECKS: readonly Check[] = [
  checkVersion,
  checkTarget,
  checkHeaderSize,
  checkHeaderNames,
  checkHost,
  checkCredentialHeaders,
  checkTransferCoding,
  checkExpectation,
  checkBody,
];

/** Refuses requests that no part of the service takes, before any other code looks at the request. */
export function requestLimits(request: Request, response: Response, next: NextFunction): void {
  for (const check of CHECKS) {
    const problem = check(request);
    if (problem) {
      response.setHeader('Connection', 'close'); // the next bytes may be a body instead of a request
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
  // `url` is another one where ServerAdapter replaced a target that Express cannot parse
  const isRoutable = url === originalUrl;
  if (isRoutable && hasTargetForm(originalUrl)) return undefined;
  return malformed('The request target has to be in origin or absolute form, without a fragment.');
}

/** Whether a target is in origin, asterisk or absolute form, without user information (RFC 9110 section 4.2.4). */
function hasTargetForm(target: string): boolean {
  if (!TARGET_CHARACTERS.test(target) || target.includes('#')) return false;
  if (target.startsWith('/') || target === '*') return true;
  const host = ABSOLUTE_TARGET.exec(target)?.groups?.['host'];
  return host !== undefined && HOST.test(host);
}

function checkHeaderSize({ rawHeaders }: Request): Problem | undefined {
  let bytes = 0;
  // Each name and each value is followed by two bytes: a colon and a space, or CRLF
  for (const text of rawHeaders) bytes += text.length + 2;
  // The list holds names and values by turns
  if (rawHeaders.length <= 2 * MAX_HEADERS && bytes <= MAX_HEADER_BYTES) return undefined;
  return new Problem('headers-too-large', {
    detail: `The headers have more than ${LIMITS.headers} or ${LIMITS.headerLines}.`,
  });
}

/** Refuses a line without a name, which the parsers of Node.js 20.19.0 and 20.19.1 let pass. */
function checkHeaderNames({ headers }: Request): Problem | undefined {
  if (headers[''] === undefined) return undefined;
  return malformed('A header line has no name.');
}

function checkHost({ rawHeaders, headers, httpVersion }: Request): Problem | undefined {
  const count = countLines(rawHeaders, 'Host');
  if (count === 0 && httpVersion === '1.0') return undefined;
  if (count === 1 && HOST.test(headers.host ?? '')) return undefined;
  return malformed('The request has to carry one Host header that holds a host (RFC 9112).');
}

/** No credential holds a comma: such a line may be two lines that a proxy has joined (RFC 9110 section 5.3). */
function checkCredentialHeaders({ rawHeaders, headers }: Request): Problem | undefined {
  const repeated = CREDENTIAL_HEADERS.filter((name) => {
    const holdsComma = headers[name.toLowerCase()]?.includes(',') ?? false;
    return holdsComma || countLines(rawHeaders, name) > 1;
  });
  if (repeated.length === 0) return undefined;
  const issues = repeated.map((field): Issue => {
    const description = `${field} was sent more than once: send it once.`;
    return { description, field, location: 'header' };
  });
  return malformed('A credential header was sent more than once.', issues);
}

/** With another coding a proxy may see a request where Node.js sees a body (RFC 9112 section 6.1). */
function checkTransferCoding({ headers, httpVersion }: Request): Problem | undefined {
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  if (coding.toLowerCase() === 'chunked' && httpVersion === '1.1') return undefined;
  return malformed('The only transfer coding is chunked, in HTTP/1.1.');
}

/** Refuses expectations but 100-continue. HTTP/1.0 has none (RFC 9110 section 10.1.1). */
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

/**
 * Counts the lines of a header field as they were sent: of some repeated fields Node.js keeps only the first.
 * @param rawHeaders names and values by turns
 */
function countLines(rawHeaders: readonly string[], name: string): number {
  const wanted = name.toLowerCase();
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const lineName = rawHeaders[index]?.toLowerCase();
    if (lineName === wanted) count += 1;
  }
  return count;
}

function malformed(detail: string, issues?: readonly Issue[]): Problem {
  return new Problem('malformed-request', { detail, issues });
}
