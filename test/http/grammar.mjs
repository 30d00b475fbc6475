// Requests between right and wrong, by a grammar: most parts are good, each may be spoiled, and several may stand in one packet. Used by the
// short run in the tests and by fuzz.mjs.
import * as fc from 'fast-check';

const PATHS = [
  '/orders-update-api/supported-values',
  '/orders-api-v2/v2/supported-values',
  '/order-scheduling/communication-codes',
  '/docs',
  '/openapi.json',
  '/problems/not-found',
  '/',
  '*',
  '/nothing',
  '/%zz',
];
/** What may stand before a path: nothing, or how a target in absolute form begins, well or badly. */
const ORIGINS = [
  ...Array.from({ length: 8 }, () => ''),
  'http://x',
  'https://[::1]:443',
  'http://[::1',
  'http://a b',
  'http://me@x',
  'http://',
  'ftp://x',
];
const METHODS = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'OPTIONS',
  'POST',
  'PUT',
  'DELETE',
  'TRACE',
  'PATCH',
  'get',
  'G ET',
  'CONNECT',
  'PROPFIND',
  '',
];
const text = (max) =>
  fc.string({ maxLength: max, unit: 'binary' }).map((value) => value.replaceAll(/[\r\n]/g, ''));
const pieces = [
  '%',
  '%zz',
  '%00',
  '%C3',
  '&',
  '=',
  '+',
  '?',
  '#',
  ';',
  '//',
  '../',
  'codeType',
  'code',
  '[]',
  '__proto__',
  'x'.repeat(300),
];
const query = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.constantFrom(...pieces), { maxLength: 12 })
      .map((parts) => `?${parts.join('')}`),
  },
  { weight: 1, arbitrary: text(40).map((value) => `?${value}`) },
);
const lines = (key, token) => [
  `Api-Key: ${key}`,
  `Authorization: Bearer ${token}`,
  'Api-Key: wrong',
  'Authorization: Basic x',
  'Content-Length: 0',
  'Content-Length: 3',
  'Content-Length: x',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip',
  'Connection: close',
  'Connection: Upgrade',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'Expect: x',
  'If-None-Match: *',
  'Host: y',
  'X-Request-Id: \x80',
  'Accept: nonsense',
  'Origin: null',
  `A: ${'x'.repeat(9_000)}`,
];

const request = (key, token, base) =>
  fc
    .record({
      origin: fc.constantFrom(...ORIGINS),
      prefix: fc.constantFrom(base, base, base, ''),
      method: fc.constantFrom(...METHODS),
      path: fc.constantFrom(...PATHS),
      query,
      version: fc.constantFrom(
        'HTTP/1.1',
        'HTTP/1.1',
        'HTTP/1.1',
        'HTTP/1.0',
        'HTTP/2.0',
        'HTTP/1.9',
        '',
      ),
      credentials: fc.boolean(),
      host: fc.constantFrom('Host: x\r\n', 'Host: x\r\n', 'Host: x\r\n', '', 'Host : x\r\n'),
      headers: fc.array(
        fc.oneof(
          { weight: 5, arbitrary: fc.constantFrom(...lines(key, token)) },
          { weight: 1, arbitrary: text(30) },
        ),
        {
          maxLength: 5,
        },
      ),
      end: fc.constantFrom('\r\n', '\r\n', '\r\n', '\r\n', '\n'),
      body: fc.constantFrom('', '', '', 'abc', '0\r\n\r\n', '3\r\nabc\r\n0\r\n\r\n', 'zz\r\n'),
    })
    .map((parts) => {
      const { method, path, query: search, version, credentials, host, headers, end, body } = parts;
      const target = `${parts.origin}${path === '*' ? '' : parts.prefix}${path}${search}`;
      const all = [...(credentials ? lines(key, token).slice(0, 2) : []), ...headers]
        .map((line) => `${line}\r\n`)
        .join('');
      return `${method} ${target} ${version}${end}${host}${all}\r\n${body}`;
    });

/** Bytes of one connection: requests, one behind the other, and the number of them. */
export const requests = (key, token, base = '') =>
  fc
    .oneof(
      { weight: 2, arbitrary: fc.tuple(request(key, token, base)) },
      { weight: 1, arbitrary: fc.array(request(key, token, base), { minLength: 2, maxLength: 6 }) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.nat({ max: 20 }), request(key, token, base))
          .map(([good, last]) => [
            ...Array.from({ length: good }, () => goodRequest(key, token, base)),
            last,
            goodRequest(key, token, base),
          ]),
      },
    )
    .map((all) => Buffer.from(all.join(''), 'latin1'));

const goodRequest = (key, token, base) =>
  `GET ${base}${PATHS[0]} HTTP/1.1\r\nHost: x\r\nApi-Key: ${key}\r\nAuthorization: ${token}\r\n\r\n`;

/** What is wrong with the bytes that came back, if anything is. */
export function faultOf(bytes) {
  let at = 0;
  let closed = false;
  while (at < bytes.length) {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end < 0) return 'an answer without an end';
    const head = bytes.subarray(at, end).toString('latin1');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (!status) return `no status line: ${head.slice(0, 100)}`;
    if (closed) return `an answer behind one that closes: ${head.slice(0, 100)}`;
    if (!/^x-request-id: [\da-f-]{36}$/im.test(head)) return `no request id: ${head}`;
    closed = /^connection: close$/im.test(head);
    const length =
      status === 304 || status === 204
        ? 0
        : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) return `no length: ${head}`;
    const body = bytes.subarray(end + 4, end + 4 + length);
    if (status >= 500) return `status ${status}: ${body.toString()}`;
    const isHead = body.length < length || body.subarray(0, 5).toString() === 'HTTP/';
    if (status >= 400 && !isHead) {
      const problem = JSON.parse(body.toString());
      if (
        problem.status !== status ||
        !/^urn:uuid:/.test(problem.instance) ||
        !/problem\+json/.test(head)
      )
        return `no problem document: ${body.toString()}`;
    }
    at = end + 4 + (isHead ? 0 : length);
  }
  return undefined;
}
