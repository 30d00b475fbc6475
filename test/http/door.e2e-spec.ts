// What of HTTP is taken, and what is not. Every reply that leaves the process has the same form, and is counted and logged under its id, whichever
// part of the program found out about it. After one that closes its connection nothing runs, nothing is answered and nothing is counted.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProblemSlug } from '../../src/problems/problem-types.js';
import { PATHS } from '../support/paths.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { type Exchange, type Reply, exchange } from '../support/raw.js';
import type { RunningService } from '../support/service.js';
import { testWorld } from '../support/test-world.js';

const BASE = '/lookups/v1';
const PATH = BASE + PATHS.orderUpdate;
const ORIGIN = 'https://portal.example.com';
const world = testWorld({ LOG_LEVEL: 'debug', BASE_PATH: BASE, CORS_ORIGINS: ORIGIN });

/** Whatever came before, the same process answers a good request. */
afterEach(async () => {
  expect((await world.get(PATH)).status).toBe(200);
});

/** A request with more lines of the header, each with its end. */
const request = (line: string, more = ''): string =>
  `${line} HTTP/1.1\r\nHost: x\r\nOrigin: ${ORIGIN}\r\n${more}\r\n`;
const credentials = (): string =>
  `Api-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\n`;
const good = (line = `GET ${PATH}`, more = ''): string => request(line, credentials() + more);

/** Sends bytes in one packet. Each answer has to be counted once and logged under its id, and says that it depends on the origin. */
async function send(bytes: string, answers = Infinity): Promise<Exchange> {
  const { service } = world;
  const counted = await service.metric('order_lookup_http_requests_total');
  const found = await exchange(service.port, [Buffer.from(bytes, 'latin1')], { answers });
  for (const { status, headers } of found.responses) {
    expect(headers.get('vary')).toBe('Origin');
    const id = headers.get('x-request-id');
    const line = await service.waitForLog(({ requestId }) => requestId === id);
    const [operation, durationMs] = [expect.any(String), expect.any(Number)];
    expect(line).toMatchObject({ statusCode: status, operation, durationMs });
  }
  expect(await service.metric('order_lookup_http_requests_total')).toBe(
    counted + found.responses.length,
  );
  return found;
}
const statusesOf = ({ responses }: Exchange): number[] => responses.map(({ status }) => status);

function expectProblemOf(reply: Reply | undefined, slug: ProblemSlug, status?: number) {
  const { type, ...rest } = JSON.parse(reply?.text ?? '') as ProblemBody;
  expect(type).toBe(`${BASE}/problems/${slug}`);
  const text = JSON.stringify({ type: `/problems/${slug}`, ...rest });
  return expectProblem({ ...(reply as Reply), text }, slug, status);
}

/** The first of these bytes get one answer, a problem document, and the connection is closed: what is behind them never runs. */
async function expectRefusal(bytes: string, slug: ProblemSlug = 'malformed-request') {
  const found = await send(slug === 'uri-too-long' ? bytes : bytes + good());
  expect(statusesOf(found)).toHaveLength(1);
  const [reply] = found.responses;
  expect([found.closed, reply?.headers.get('connection')]).toEqual([true, 'close']);
  return expectProblemOf(reply, slug);
}

describe('what is no request is answered 400, and the connection closed', () => {
  it.each([
    ...['garbage', ' / HTTP/1.1', 'get / HTTP/1.1', 'FETCH / HTTP/1.1', 'GET /', 'GET / ICE/1.0'],
    ...['GET / HTTP/2.0', 'GET / HTTP/1.2', 'GET / HTTP/11', 'GET / HTTP/1', 'GET / http/1.1'],
    ...['GET / HTTP/1.1x', 'GET / HTTP/1.10', 'GET / x HTTP/1.1', 'GET\t/ HTTP/1.1'],
    ...['GET /\x01 HTTP/1.1', 'GET /ü HTTP/1.1', `GET ${PATH}#x HTTP/1.1`, 'GET nothing HTTP/1.1'],
    ...['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '\0\0\0\0', 'PRI * HTTP/2.0\r\n\r\nSM'],
    ...['GET http://[::1/x HTTP/1.1', 'GET http://a]b/x HTTP/1.1', 'GET http://a%2/x HTTP/1.1'],
    ...['GET http://me:secret@x/x HTTP/1.1', 'GET http://x:y/x HTTP/1.1', 'GET ftp://x/ HTTP/1.1'],
    ...['GET http:///x HTTP/1.1', 'GET / HTTP/1.1\r\n Host: x', 'GET / HTTP/1.1\nA: b'],
  ])('%j', (line) => expectRefusal(`${line}\r\nHost: x\r\n\r\n`));

  it.each([
    ...['Host: x\nA: b', 'Host: x\rA: b', 'Host : x', 'Host\t: x', 'Host: x\r\nA: b\r\n c', 'A: b'],
    ...['Host: x\r\nnonsense', 'Host: x\r\n: b', 'Host: x\r\nA: b\x01c', 'Host: x\r\nA: b\0c'],
    ...['Host: x\r\nA\x01: b', 'Host: x\r\nA: b\x7fc', 'Host: x\r\n"A": b', 'Host: x\r\nA/B: c'],
    ...['Host: x\r\nÄ: c', 'Host: x\r\nHost: x', 'Host: x\r\nhOST: y', 'Host: a b', 'Host: a/b'],
    ...['Host: a?b', 'Host: me@a', 'Host: a:b', 'Host: [::1', 'Host: a\x80', 'Host: a%2'],
    ...['Host: "a"', 'Host: a\\b'],
  ])('%j', (lines) => expectRefusal(`GET ${PATH} HTTP/1.1\r\n${lines}\r\n\r\n`));

  const LENGTHS = ['5\r\nContent-Length: 6', '0\r\nContent-Length: 0', '5, 5', '-1', '+5', '0x5'];
  const MORE_LENGTHS = ['99999999999999999999', '', '1 0', '1_0', '5.0', 'five'];
  const CODINGS = ['gzip', 'chunked, gzip', 'gzip, chunked', 'xchunked', 'identity', '"chunked"'];
  it.each([
    ...[...LENGTHS, ...MORE_LENGTHS].map((length) => `Content-Length: ${length}`),
    ...[...CODINGS, '\x0bchunked'].map((coding) => `Transfer-Encoding: ${coding}`),
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 5',
    'Content-Length: 5\r\nTransfer-Encoding: chunked',
  ])('%j', (lines) => expectRefusal(request(`GET ${PATH}`, `${lines}\r\n`) + '0\r\n\r\n'));

  it.each([
    ...['zz', '-1', '+5\r\nhello', '10000000000000000\r\nx', '0x5\r\nhello', '5\r\nhelloX0'],
    ...['3\r\nhello', '5\nhello'],
  ])('a chunk of %j', (chunk) =>
    expectRefusal(request(`GET ${PATH}`, 'Transfer-Encoding: chunked\r\n') + `${chunk}\r\n0\r\n`),
  );

  it.each(['Host: x\r\nHost: y', 'Transfer-Encoding: chunked'])('%j in HTTP/1.0', (lines) =>
    expectRefusal(`GET / HTTP/1.0\r\n${lines}\r\n\r\n`),
  );
});

const chunks = 'Transfer-Encoding: chunked\r\n';

describe('the limits', () => {
  const line = (bytes: number): string => `A: ${'x'.repeat(bytes)}\r\n`;
  it.each<[string, ProblemSlug, string]>([
    ['a target of 8,001 bytes', 'uri-too-long', request(`GET /${'x'.repeat(8_000)}`)],
    ['a target of 20,000 bytes', 'uri-too-long', request(`GET /${'x'.repeat(20_000)}`)],
    ['a target of 40,000 bytes', 'uri-too-long', request(`GET /${'x'.repeat(40_000)}`)],
    ['a target without an end', 'uri-too-long', `GET /${'x'.repeat(60_000)}`],
    ['a header over 16 KiB', 'headers-too-large', request('GET /', line(16_400))],
    ['a header of 80 KiB', 'headers-too-large', request('GET /', line(80_000))],
    ['lines over 16 KiB together', 'headers-too-large', request('GET /', line(400).repeat(50))],
    ['101 lines', 'headers-too-large', request('GET /', line(1).repeat(99))],
    ['2,500 lines', 'headers-too-large', request('GET /', line(1).repeat(2_500))],
  ])('refuse %s', (_name, slug, bytes) => expectRefusal(bytes, slug));

  it('let pass what is just within', async () => {
    const target = `GET ${PATH}?${'x'.repeat(7_999 - PATH.length)}`;
    const found = await send(good(target) + good(undefined, line(1).repeat(96)), 2);
    expect([...statusesOf(found)]).toEqual([200, 200]);
    const { responses } = await send(good(undefined, line(15_000)), 1);
    expect(responses[0]?.status).toBe(200);
  });
});

describe('a body', () => {
  it.each([
    ['with a length', request(`GET ${PATH}`, 'Content-Length: 5\r\n') + 'hello'],
    ['in chunks', request(`GET ${PATH}`, chunks) + '5\r\nhello\r\n0\r\n\r\n'],
    ['with OPTIONS', request(`OPTIONS ${PATH}`, 'Content-Length: 5\r\n') + 'hello'],
    ['at an unknown address', request('GET /nothing', 'Content-Length: 5\r\n') + 'hello'],
    ['that is announced', request(`GET ${PATH}`, `Expect: 100-continue\r\n${chunks}`)],
  ])('%s is refused, and what follows it never runs', async (_name, bytes) => {
    const description = 'A body was sent. Send none: the filters are query parameters.';
    const { issues } = await expectRefusal(bytes);
    expect(issues).toEqual([{ description, field: '', location: 'body' }]);
  });

  it.each([
    ['a length of 0', 'Content-Length: 0\r\n', ''],
    ['chunks that hold nothing', chunks, '0\r\n\r\n'],
  ])('that is empty is none: %s', async (_name, header, body) => {
    const found = await send(good(undefined, header) + body + good(), 2);
    expect(statusesOf(found)).toEqual([200, 200]);
  });
});

describe('a problem document is the answer to', () => {
  it.each<[string, ProblemSlug, number?]>([
    [request(`GET ${PATHS.orderUpdate}`), 'not-found'],
    [request('GET /'), 'not-found'],
    [request('POST /x'), 'not-found'],
    [request('OPTIONS /x'), 'not-found'],
    [request(`GET ${BASE}x${PATHS.orderUpdate}`), 'not-found'],
    [request(`GET ${BASE}/nothing`), 'not-found'],
    [request('GET http://elsewhere/'), 'not-found'],
    [request('GET http://elsewhere?x'), 'not-found'],
    [request('OPTIONS *'), 'not-found'],
    [request(`GET ${BASE}/problems/%zz`), 'malformed-request'],
    [request(`GET ${BASE}/problems/%C3`), 'malformed-request'],
    ...['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'].map(
      (method): [string, ProblemSlug] => [request(`${method} ${PATH}`), 'method-not-allowed'],
    ),
    [request('CONNECT x:1', 'Content-Length: 3\r\n'), 'method-not-allowed'],
    [request(`GET ${PATH}`, 'Expect: x\r\n'), 'malformed-request', 417],
    [request(`GET ${PATH}`, 'Expect: x, 100-continue\r\n'), 'malformed-request', 417],
    [request(`GET ${PATH}`), 'missing-credentials'],
  ])('%j', async (bytes, slug, ...[status]) => {
    const { responses } = await send(bytes, 1);
    expectProblemOf(responses[0], slug, status);
    const { headers } = responses[0] as Reply;
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(headers.get('access-control-expose-headers') ?? 'OPTIONS').toMatch(/OPTIONS|WWW-A/);
    if (slug === 'method-not-allowed') expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });
});

describe('what RFC 9112 allows', () => {
  it.each<[string, () => string, number]>([
    ['an absolute target', () => good(`GET https://elsewhere:8443${PATH}`), 200],
    ['an IPv6 address as host', () => good(`GET http://[::1]:3000${PATH}`), 200],
    ['a web socket', () => good(undefined, 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), 200],
    ['an empty line before the request', () => `\r\n${good()}`, 200],
    ['304', () => good(undefined, 'If-None-Match: *\r\n'), 304],
    ['OPTIONS', () => request(`OPTIONS ${PATH}`), 204],
    ['a page', () => request(`GET ${BASE}/docs`), 200],
  ])('%s', async (_name, bytes, status) => {
    const found = await send(bytes(), 1);
    expect(statusesOf(found)).toEqual([status]);
    expect(found.responses[0]?.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });

  it.each(['', 'a.example:443', '[2001:db8::1]:80', '[::1]', 'a_b', 'a:', '%41'])(
    'the host "%s"',
    async (host) => {
      expect(statusesOf(await send(good().replace('Host: x', `Host: ${host}`), 1))).toEqual([200]);
    },
  );

  it('gives a preflight methods and headers, and another origin no permission', async () => {
    const preflight = request(`OPTIONS ${PATH}`, 'Access-Control-Request-Method: GET\r\n');
    const { headers } = (await send(preflight, 1)).responses[0] as Reply;
    expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS');
    expect(headers.get('access-control-allow-headers')).toBe(
      'Api-Key, Authorization, Content-Type, If-None-Match, X-Request-Id, traceparent',
    );
    const other = await send(preflight.replace(ORIGIN, 'https://other'), 1);
    expect(other.responses[0]?.headers.get('access-control-allow-origin')).toBe(null);
  });
});

describe('an answer that closes its connection', () => {
  it.each<[string, number, () => string]>([
    ['Connection: close', 200, () => good(undefined, 'Connection: close\r\n')],
    ['HTTP/1.0', 200, () => `GET ${PATH} HTTP/1.0\r\n${credentials()}\r\n`],
    ['keep-alive', 200, () => good(undefined, 'Connection: keep-alive\r\n').replace('1.1', '1.0')],
    ['Expect: 100-continue', 200, () => good(undefined, 'Expect: 100-continue\r\n')],
    ['another expectation', 417, () => good(undefined, 'Expect: x\r\n')],
    ['a body', 400, () => good(undefined, 'Content-Length: 3\r\n') + 'abc'],
    ['chunks', 400, () => good(undefined, chunks) + '3\r\nabc\r\n0\r\n\r\n'],
    ['POST with a body', 405, () => request(`POST ${PATH}`, 'Content-Length: 3\r\n') + 'abc'],
    ['POST with chunks', 405, () => request(`POST ${PATH}`, chunks) + '0\r\n\r\n'],
    ['POST elsewhere', 404, () => request('POST /nothing', 'Content-Length: 3\r\n') + 'abc'],
    ['no Host', 400, () => `GET ${PATH} HTTP/1.1\r\n${credentials()}\r\n`],
    ['bytes that are no request', 400, () => 'nonsense\r\n\r\n'],
    ['CONNECT', 405, () => request('CONNECT x:1')],
  ])('is the last, whatever is before and behind it: %s, %d', async (_name, status, bytes) => {
    const behind = [good().repeat(2), 'nonsense\r\n\r\n', request('CONNECT x:1'), good('POST /')];
    for (const next of behind)
      for (const [before, statuses] of [
        ['', []],
        [good() + request('GET /nothing'), [200, 404]],
      ] as const) {
        const found = await send(before + bytes() + next);
        expect([statusesOf(found), found.closed]).toEqual([[...statuses, status], true]);
        expect(found.responses.at(-1)?.headers.get('connection')).toBe('close');
      }
  });

  it('reaches a client that is still sending', async () => {
    const body = 'x'.repeat(8_000_000);
    const found = await send(request(`POST ${PATH}`, 'Content-Length: 8000000\r\n') + body);
    expect([statusesOf(found), found.closed]).toEqual([[405], true]);
  });
});

describe('probes', () => {
  it.each(
    '//|/.|/..|/./|;|%2f|%2e|/%2e%2e|%00|?x|/../supported-values|%20|.json'
      .split('|')
      .map((suffix) => [suffix]),
  )('never get data without credentials: the address followed by %s', async (suffix) => {
    const lines = `X-Forwarded-For: 127.0.0.1\r\nX-Original-URL: ${PATH}\r\nX-HTTP-Method-Override: GET\r\n`;
    const [status] = statusesOf(await send(request(`GET ${PATH}${suffix}`, lines), 1));
    expect([400, 401, 404]).toContain(status);
  });

  it.each([`/${PATH}`, `/.${PATH}`, `/docs/..${PATH}`, PATH.replace('o', '%6f'), `${PATH}\\`])(
    'find nothing at %s, with credentials neither',
    async (path) => expect(statusesOf(await send(good(`GET ${path}`), 1))).toEqual([404]),
  );

  it('learn nothing about what is inside', async () => {
    const { responses } = await send(good(), 1);
    const names = [...(responses[0]?.headers.keys() ?? [])].filter((name) => !/^access/.test(name));
    expect(names.toSorted().join(' ')).toBe(
      'cache-control connection content-length content-type date etag keep-alive vary x-content-type-options x-request-id',
    );
  });
});

it('Upgrade is ignored: the connection stays open, and all requests of a packet are answered in order', async () => {
  const lines = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n';
  const upgrade = (path = PATH): string => good(`GET ${path}`, lines);
  const packet = good() + upgrade() + upgrade('/nothing') + good() + upgrade();
  const twice = [packet, '', packet];
  const found = await exchange(world.service.port, twice, { answers: 10, pauseMs: 50 });
  const statuses = [200, 200, 404, 200, 200];
  expect([statusesOf(found), found.closed]).toEqual([[...statuses, ...statuses], false]);
  const closing = upgrade().replace('Upgrade,', 'close, Upgrade,') + upgrade();
  expect(statusesOf(await send(upgrade() + closing))).toEqual([200, 200]);
  expect(statusesOf(await send(`${upgrade()}nonsense\r\n\r\n${good()}`))).toEqual([200, 400]);
});

it('X-Request-Id is used if it is a UUID, with or without dashes', async () => {
  const id = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736';
  for (const sent of [id, id.replaceAll('-', '')]) {
    const { responses } = await send(good(undefined, `X-Request-Id: ${sent}\r\n`), 1);
    expect(responses[0]?.headers.get('x-request-id')).toBe(id);
  }
});

describe('the address in the line of a request', () => {
  let behindTwo: RunningService;
  beforeAll(async () => {
    behindTwo = await world.replica({ TRUSTED_PROXY_HOPS: '2' });
  });
  it.each<[hops: number, forwarded: string | undefined, address: string]>([
    [0, '192.0.2.1', '127.0.0.1'],
    [2, undefined, '127.0.0.1'],
    [2, '192.0.2.1', '127.0.0.1'],
    [2, '203.0.113.9, 198.51.100.7, 2001:db8::1', '198.51.100.7'],
    [2, '192.0.2.7:4711, 198.51.100.7', '192.0.2.7'],
    [2, '[2001:db8::1]:80, 198.51.100.7', '2001:db8::1'],
    [2, '[2001:db8::2], 198.51.100.7', '2001:db8::2'],
    [2, 'a secret', '127.0.0.1'],
  ])('with TRUSTED_PROXY_HOPS=%i and %s is %s', async (hops, forwarded, address) => {
    const service = hops === 0 ? world.service : behindTwo;
    const id = randomUUID();
    const headers = { 'X-Request-Id': id, 'X-Forwarded-For': forwarded };
    await world.get('/nothing', { headers, service });
    const line = await service.waitForLog(({ requestId }) => requestId === id);
    expect(line['address']).toBe(address);
  });
});
