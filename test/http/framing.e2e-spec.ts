import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProblemSlug } from '../../src/problems/problem-types.js';
import { expectProblem } from '../support/problem.js';
import { exchange } from '../support/raw.js';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

const PATH = PATHS.orderUpdate;
let world: World;
let credentials: string;

beforeAll(async () => {
  world = await World.create();
  credentials = `Api-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\n`;
});
afterAll(() => world?.close());

/** Whatever came before, the same process answers a good request. */
afterEach(async () => {
  expect((await world.get(PATH)).status).toBe(200);
});

const send = (bytes: string | string[] | Buffer, options = {}) =>
  exchange(world.service.port, Array.isArray(bytes) ? bytes : [bytes], options);
const good = (line = `GET ${PATH} HTTP/1.1`, more = ''): string =>
  `${line}\r\nHost: x\r\n${credentials}${more}\r\n`;

describe('what is not a request', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['an empty method', ' / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['bytes of zero', '\0\0\0\0\0\0\0\0\r\n\r\n'],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: x\r\n\r\n'],
    ['HTTP/11', 'GET / HTTP/11\r\nHost: x\r\n\r\n'],
    ['HTTP/1', 'GET / HTTP/1\r\nHost: x\r\n\r\n'],
    ['another protocol', 'GET / ICE/1.0\r\nHost: x\r\n\r\n'],
    ['a bare LF after the request line', 'GET / HTTP/1.1\nHost: x\r\n\r\n'],
    ['a bare LF after a header', 'GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n'],
    ['a bare CR in a header', 'GET / HTTP/1.1\r\nHost: x\rA: b\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a tab before the colon', 'GET / HTTP/1.1\r\nHost\t: x\r\n\r\n'],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n'],
    ['a header that begins with a space', 'GET / HTTP/1.1\r\n Host: x\r\n\r\n'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n'],
    ['a control character in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\x01c\r\n\r\n'],
    ['a zero byte in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n'],
    ['a control character in a name', 'GET / HTTP/1.1\r\nHost: x\r\nA\x01: b\r\n\r\n'],
    ['DEL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\x7fc\r\n\r\n'],
    ['a control character in the target', 'GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
    ['two Hosts in other case', 'GET / HTTP/1.1\r\nHost: x\r\nhOST: y\r\n\r\n'],
    ['two Hosts in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n'],
    [
      'length and chunks',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunks and length',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n',
    ],
    [
      'two lengths',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    ],
    [
      'two equal lengths',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n',
    ],
    ['a list of lengths', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello'],
    ['a negative length', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['a signed length', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello'],
    ['a length in hex', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nhello'],
    [
      'a length beyond 64 bits',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n',
    ],
    ['an unknown coding', 'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n'],
    [
      'chunks that are not last',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n',
    ],
    [
      'a coding before the chunks',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunks twice',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a coding that only looks like chunks',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n',
    ],
    [
      'chunks in HTTP/1.0',
      'GET / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a chunk without a size',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`,
    ],
    [
      'a chunk with a negative size',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n`,
    ],
    [
      'a chunk whose size has a sign',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n`,
    ],
    [
      'a chunk of 2^64 bytes',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nx`,
    ],
    [
      'a chunk whose size is in 0x',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n`,
    ],
    [
      'a chunk without its end',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n`,
    ],
    [
      'a chunk longer than its size',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n`,
    ],
    [
      'a chunk with a bare LF',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n`,
    ],
    [
      'an extension of a chunk without an end',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;${'x'.repeat(20_000)}`,
    ],
    ['identity as the coding', 'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n'],
    [
      'a coding with a vertical tab',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a coding in quotes',
      'GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    ],
    ['an empty length', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n'],
    ['a length with a space in it', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1 0\r\n\r\n'],
    ['a length with an underscore', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1_0\r\n\r\n'],
    [
      'a length that is a fraction',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5.0\r\n\r\nhello',
    ],
    [
      'a length that is not a number',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: five\r\n\r\nhello',
    ],
    ['a version in lower case', 'GET / http/1.1\r\nHost: x\r\n\r\n'],
    ['a version with more behind it', 'GET / HTTP/1.1x\r\nHost: x\r\n\r\n'],
    ['HTTP/1.10', 'GET / HTTP/1.10\r\nHost: x\r\n\r\n'],
    ['HTTP/01.1', 'GET / HTTP/01.1\r\nHost: x\r\n\r\n'],
    ['a fourth word in the request line', 'GET / x HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a tab in the request line', 'GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a name of a header in quotes', 'GET / HTTP/1.1\r\nHost: x\r\n"A": b\r\n\r\n'],
    ['a name of a header with a slash', 'GET / HTTP/1.1\r\nHost: x\r\nA/B: c\r\n\r\n'],
    ['a name of a header beyond ASCII', 'GET / HTTP/1.1\r\nHost: x\r\nÄ: c\r\n\r\n'],
    ['a target that is not ASCII', 'GET /ü HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a fragment in the target', `GET ${PATH}#x HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a target of another form', 'GET nothing HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('is answered 400 and the connection closed: %s', async (_name, bytes) => {
    const { responses, closed } = await send(Buffer.from(bytes, 'latin1'));
    expect(responses).toHaveLength(1);
    const [response] = responses;
    expectProblem(response as NonNullable<typeof response>, 'malformed-request');
    expect({ connection: response?.headers.get('connection'), closed }).toEqual({
      connection: 'close',
      closed: true,
    });
  });
});

describe('the limits', () => {
  it.each<[string, string, ProblemSlug]>([
    [
      'a target of 8,001 bytes',
      `GET /${'x'.repeat(8_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      'uri-too-long',
    ],
    [
      'a target of 20,000 bytes',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      'uri-too-long',
    ],
    ['a target without an end', `GET /${'x'.repeat(60_000)}`, 'uri-too-long'],
    [
      'a header over 16 KiB',
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(16_400)}\r\n\r\n`,
      'headers-too-large',
    ],
    [
      'a header of 80 KiB',
      `GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(80_000)}\r\n\r\n`,
      'headers-too-large',
    ],
    [
      'many headers over 16 KiB together',
      `GET / HTTP/1.1\r\nHost: x\r\n${`A: ${'x'.repeat(400)}\r\n`.repeat(50)}\r\n`,
      'headers-too-large',
    ],
    [
      '101 headers',
      `GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(100)}\r\n`,
      'headers-too-large',
    ],
    [
      '2,500 headers',
      `GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(2_500)}\r\n`,
      'headers-too-large',
    ],
  ])('refuse %s', async (_name, bytes, slug) => {
    const { responses, closed } = await send(bytes);
    expectProblem(responses[0] as NonNullable<(typeof responses)[0]>, slug);
    expect({ count: responses.length, closed }).toEqual({ count: 1, closed: true });
  });

  it('let pass what is just within', async () => {
    const { responses } = await send(
      [
        good(`GET ${PATH}?${'x'.repeat(7_999 - PATH.length)} HTTP/1.1`),
        good(undefined, 'A: b\r\n'.repeat(97)),
        good(undefined, `A: ${'x'.repeat(15_000)}\r\n`),
      ],
      { answers: 3 },
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe('a body', () => {
  it.each([
    ['with a length', `GET ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`],
    [
      'in chunks',
      `GET ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    ],
    ['on HEAD', `HEAD ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`],
    ['on OPTIONS', `OPTIONS ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`],
    ['at an unknown address', `GET /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`],
  ])('%s is refused, and what follows it never runs', async (name, bytes) => {
    const { responses, closed } = await send(bytes + good());
    expect({ count: responses.length, closed }).toEqual({ count: 1, closed: true });
    if (name === 'on HEAD') return expect(responses[0]?.status).toBe(400);
    const { issues } = expectProblem(
      responses[0] as NonNullable<(typeof responses)[0]>,
      'malformed-request',
    );
    expect(issues).toEqual([
      {
        description: 'A body was sent. Send none: the filters are query parameters.',
        field: '',
        location: 'body',
      },
    ]);
  });

  it.each([
    ['a length of 0', 'Content-Length: 0\r\n', ''],
    ['chunks that hold nothing', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n'],
  ])('that is empty is none: %s', async (_name, header, body) => {
    const { responses } = await send(good(undefined, header) + body + good(), { answers: 2 });
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe('what RFC 9112 allows', () => {
  it.each([
    ['an absolute target', () => good(`GET http://elsewhere${PATH} HTTP/1.1`), [200]],
    [
      'an Upgrade to h2c',
      () =>
        good(
          undefined,
          'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
        ),
      [200],
    ],
    [
      'an Upgrade to a web socket',
      () =>
        good(undefined, 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n'),
      [200],
    ],
    ['an empty line before the request', () => `\r\n${good()}`, [200]],
    [
      'pipelined requests',
      () =>
        good() +
        good(`GET ${PATHS.orderCaptureV2} HTTP/1.1`) +
        good(`GET /nothing HTTP/1.1`) +
        good(),
      [200, 200, 404, 200],
    ],
    [
      'Expect: 100-continue without a body',
      () => good(undefined, 'Expect: 100-continue\r\n'),
      [200],
    ],
  ])('works: %s', async (_name, bytes, statuses) => {
    const { responses } = await send(bytes(), { answers: statuses.length });
    expect(responses.map(({ status }) => status)).toEqual(statuses);
  });

  it('HTTP/1.0 is answered and closed', async () => {
    const { responses, closed } = await send(`GET ${PATH} HTTP/1.0\r\n${credentials}\r\n`);
    expect({ status: responses[0]?.status, closed }).toEqual({ status: 200, closed: true });
  });

  it('pipelined requests are answered in order before a bad one is refused', async () => {
    const { responses, closed } = await send(
      `${good()}${good(`GET ${PATHS.communicationCodes} HTTP/1.1`)}nonsense\r\n\r\n`,
    );
    expect({ statuses: responses.map(({ status }) => status), closed }).toEqual({
      statuses: [200, 200, 400],
      closed: true,
    });
    expectProblem(responses[2] as NonNullable<(typeof responses)[0]>, 'malformed-request');
  });

  it('an unknown expectation is refused', async () => {
    const { responses, closed } = await send(good(undefined, 'Expect: x\r\n'));
    expectProblem(responses[0] as NonNullable<(typeof responses)[0]>, 'malformed-request', 417);
    expect(closed).toBe(true);
  });

  it('CONNECT is refused', async () => {
    const { responses, closed } = await send(
      'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n',
    );
    expectProblem(responses[0] as NonNullable<(typeof responses)[0]>, 'method-not-allowed');
    expect(closed).toBe(true);
  });

  it('TRACE is refused with Allow', async () => {
    const { responses } = await send(`TRACE ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`, { answers: 1 });
    expectProblem(responses[0] as NonNullable<(typeof responses)[0]>, 'method-not-allowed');
    expect(responses[0]?.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });
});

describe('probes', () => {
  const probes = [
    '//',
    '/.',
    '/..',
    '/./',
    ';',
    '%2f',
    '%2e',
    '/%2e%2e',
    '%00',
    '?x',
    '/../supported-values',
    '%20',
    '.json',
  ];
  it.each(probes)(
    'never get data without credentials: the address followed by %s',
    async (suffix) => {
      const { responses } = await send(
        `GET ${PATH}${suffix} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1\r\nX-Original-URL: ${PATH}\r\nX-HTTP-Method-Override: GET\r\n\r\n`,
        { answers: 1 },
      );
      expect([400, 401, 404]).toContain(responses[0]?.status);
    },
  );

  it.each([
    '//orders-update-api/supported-values',
    '/./orders-update-api/supported-values',
    '/%6frders-update-api/supported-values',
    '/orders-update-api//supported-values',
    '/docs/../orders-update-api/supported-values',
    '/orders-update-api\\supported-values',
  ])('find nothing at %s, with credentials neither', async (path) => {
    const { responses } = await send(good(`GET ${path} HTTP/1.1`), { answers: 1 });
    expect(responses[0]?.status).toBe(404);
  });

  it('learn nothing about what is inside', async () => {
    const { responses } = await send(good(), { answers: 1 });
    expect([...(responses[0]?.headers.keys() ?? [])].toSorted()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-type',
      'date',
      'etag',
      'keep-alive',
      'x-content-type-options',
      'x-request-id',
    ]);
  });
});
