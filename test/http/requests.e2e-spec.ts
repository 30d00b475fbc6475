// Tests which requests the service accepts, and which it refuses. Each answer is counted, and logged under its id. This
// is also true of answers that are made before Nest sees the request.
import { randomUUID } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProblemSlug } from '../../src/problems/problem-types.js';
import type { LocalService } from '../support/local-service.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { type Exchange, type Reply, exchange, fetchReply } from '../support/exchange.js';
import { Reader } from '../support/reader.js';

const BASE_PATH = '/lookups/v1';
const PATH = BASE_PATH + PATHS.orderUpdate;
const ORIGIN = 'https://portal.example.com';
const world = localWorld({
  environment: { LOG_LEVEL: 'debug', BASE_PATH, CORS_ORIGINS: ORIGIN },
});

// After each test the same process still answers a good request
afterEach(async () => {
  expect((await world.get(PATH)).status).toBe(200);
});

/** Returns a request that begins with this method and target. Each line of `headerLines` ends with `\r\n`. */
const request = (beginning: string, headerLines = ''): string =>
  `${beginning} HTTP/1.1\r\nHost: x\r\nOrigin: ${ORIGIN}\r\n${headerLines}\r\n`;
const credentials = (): string => `Api-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\n`;
const goodRequest = (beginning = `GET ${PATH}`, headerLines = ''): string =>
  request(beginning, credentials() + headerLines);

/** Sends bytes in one packet, and asserts that each answer is counted once and logged under its id. */
async function send(bytes: string, closeAfterAnswers = Infinity): Promise<Exchange> {
  const { service } = world;
  const before = await service.readMetric('order_lookup_http_requests_total');
  const found = await exchange(service.port, [Buffer.from(bytes, 'latin1')], { answers: closeAfterAnswers });
  for (const { status, headers } of found.responses) {
    const id = headers.get('x-request-id');
    expect(id).toMatch(/^[\da-f-]{36}$/); // otherwise, if the id is missing, `waitForLog` only runs out of time
    const line = await service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ statusCode: status, operation: expect.any(String) });
  }
  expect(await service.readMetric('order_lookup_http_requests_total')).toBe(before + found.responses.length);
  return found;
}
const statusesOf = ({ responses }: Exchange): number[] => responses.map(({ status }) => status);

/** Asserts what `expectProblem` asserts, and that the address of the problem type begins with BASE_PATH. */
function expectProblemBelowBase(reply: Reply | undefined, slug: ProblemSlug) {
  const { type, ...rest } = JSON.parse(reply?.text ?? '') as ProblemBody;
  expect(type).toBe(`${BASE_PATH}/problems/${slug}`);
  const text = JSON.stringify({ type: `/problems/${slug}`, ...rest });
  return expectProblem({ ...(reply as Reply), text }, slug);
}

/**
 * Asserts that these bytes get one answer at most, that the connection is closed, and that a request after them never
 * runs. The answer is 200 if it was sent before the fault came.
 */
async function expectOneAnswerAtMost(bytes: string): Promise<void> {
  const { service } = world;
  const id = randomUUID();
  const { responses, closed } = await exchange(service.port, bytes + goodRequest(undefined, `X-Request-Id: ${id}\r\n`));
  expect(closed).toBe(true);
  const [reply, ...others] = responses;
  expect(others).toEqual([]);
  if (reply && reply.status !== 200) expectProblemBelowBase(reply, 'malformed-request');
  expect((await world.get(PATH)).status).toBe(200);
  expect(service.lines.filter(({ requestId }) => requestId === id)).toEqual([]);
}

/** Asserts that these bytes get one problem document, and that the connection is closed before another request runs. */
async function expectRefusal(bytes: string, slug: ProblemSlug = 'malformed-request') {
  const endsHeader = bytes.endsWith('\r\n\r\n'); // otherwise a good request would become a part of this header
  const found = await send(endsHeader ? bytes + goodRequest() : bytes);
  expect(statusesOf(found)).toHaveLength(1);
  const [reply] = found.responses;
  expect([found.closed, reply?.headers.get('connection')]).toEqual([true, 'close']);
  return expectProblemBelowBase(reply, slug);
}

// In this file, tables spread short lists (...['a', 'b']), because Prettier would give each text a line of its own
describe('a malformed request gets 400, and its connection is closed:', () => {
  const isOldParser = process.versions['llhttp']?.startsWith('8.') ?? false;
  /** Leaves these faults out if the parser is that of Node.js 20.19.0, which accepts them (RFC 9112 section 2.2). */
  const exceptOldParser = (...faults: string[]): string[] => (isOldParser ? [] : faults);

  it.each([
    ...['garbage', ' / HTTP/1.1', 'get / HTTP/1.1', 'FETCH / HTTP/1.1', 'GET / ICE/1.0'],
    ...['GET / HTTP/1.2', 'GET / HTTP/11', 'GET / HTTP/1', 'GET / http/1.1', 'GET / HTTP/1.1x'],
    ...['GET / x HTTP/1.1', 'GET\t/ HTTP/1.1', 'GET /\x01 HTTP/1.1'],
    ...['GET nothing HTTP/1.1', 'GET x: HTTP/1.1', 'PRI * HTTP/2.0\r\n\r\nSM'],
    ...['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '\0\0\0\0', 'GET / HTTP/1.1\r\n Host: x'],
    ...exceptOldParser('GET / HTTP/1.1\nA: b', 'GET /ü HTTP/1.1'),
  ])('the request line %j', (line) => expectRefusal(`${line}\r\nHost: x\r\n\r\n`));

  it.each([
    ...['Host: x\nA: b', 'Host: x\rA: b', 'Host\t: x', 'Host: x\r\nA: b\r\n c', 'Host: x\r\nnonsense'],
    ...['Host: x\r\nA: b\x01c', 'Host: x\r\nA: b\0c', 'Host: x\r\nA\x01: b', 'Host: x\r\nA: b\x7fc'],
    ...['Host: x\r\n"A": b', 'Host: x\r\nA/B: c', 'Host: x\r\nÄ: c'],
    ...exceptOldParser('Host : x', 'Host: x\r\n: b'),
  ])('the header lines %j', (lines) => expectRefusal(`GET ${PATH} HTTP/1.1\r\n${lines}\r\n\r\n`));
});

describe('the limit of 16 KiB of target and headers together', () => {
  const line = (bytes: number): string => `A: ${'x'.repeat(bytes)}\r\n`;
  it.each([
    { name: 'a target without an end', bytes: `GET /${'x'.repeat(60_000)}` },
    { name: 'a target of 17,000 bytes', bytes: request(`GET /${'x'.repeat(17_000)}`) },
    { name: 'a header of 17,000 bytes', bytes: request('GET /', line(17_000)) },
    { name: 'a header of 80,000 bytes', bytes: request('GET /', line(80_000)) },
    { name: '2,500 header lines', bytes: request('GET /', line(10).repeat(2_500)) },
  ])('refuses $name with 431', ({ bytes }) => expectRefusal(bytes, 'headers-too-large'));

  it.each([
    { name: 'a target of 9,000 bytes', bytes: () => goodRequest(`GET ${PATH}?${'x'.repeat(9_000)}`) },
    { name: 'a header of 14,000 bytes', bytes: () => goodRequest(undefined, line(14_000)) },
    {
      name: '2,300 header lines, and reads also the lines after the first 2,000, which Node.js drops by default',
      bytes: () => request(`GET ${PATH}`, line(1).repeat(2_300) + credentials()),
    },
  ])('accepts $name', async ({ bytes }) => {
    expect(statusesOf(await send(bytes(), 1))).toEqual([200]);
  });
});

describe('a body', () => {
  const chunked = 'Transfer-Encoding: chunked\r\n';
  const length = 'Content-Length: 5\r\n';
  it.each([
    { name: 'with a length', lines: length, body: 'hello' },
    { name: 'of length 0', lines: 'Content-Length: 0\r\n', body: '' },
    { name: 'in chunks', lines: chunked, body: '5\r\nhello\r\n0\r\n\r\n' },
    { name: 'in chunks with a trailer', lines: chunked, body: '5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n' },
    { name: 'of an empty chunk only', lines: chunked, body: '0\r\n\r\n' },
    { name: 'that looks like a request', lines: 'Content-Length: 27\r\n', body: 'GET / HTTP/1.1\r\nHost: x\r\n\r\n' },
    { name: 'with Expect: 100-continue', lines: `Expect: 100-continue\r\n${length}`, body: 'hello' },
  ])('$name is ignored, and the connection stays usable', async ({ lines, body }) => {
    const found = await send(goodRequest(undefined, lines) + body + goodRequest(), 2);
    expect([statusesOf(found), found.closed]).toEqual([[200, 200], false]);
  });

  it('that comes after the answer to its request is ignored, too', async () => {
    const reader = await Reader.to(world.service.url);
    expect((await reader.ask(goodRequest(undefined, length))).status).toBe(200);
    expect((await reader.ask(`hello${goodRequest()}`)).status).toBe(200);
    reader.close();
  });

  it('of a method that is not allowed is read to its end', async () => {
    const bytes = request(`POST ${PATH}`, 'Content-Length: 3\r\n') + 'abc';
    expect(statusesOf(await send(bytes + goodRequest(), 2))).toEqual([405, 200]);
  });
});

describe('a body whose framing is faulty', () => {
  const FAULTY_LENGTHS = ['5\r\nContent-Length: 6', '0\r\nContent-Length: 0', '5, 5', '-1', '+5', '0x5'];
  const OTHER_FAULTY_LENGTHS = ['99999999999999999999', '', '1 0', '1_0', '5.0', 'five'];
  const FAULTY_CODINGS = ['gzip', 'chunked, gzip', 'xchunked', 'identity', '"chunked"', '\x0bchunked'];
  it.each([
    ...[...FAULTY_LENGTHS, ...OTHER_FAULTY_LENGTHS].map((length) => `Content-Length: ${length}`),
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 5',
    'Content-Length: 5\r\nTransfer-Encoding: chunked',
  ])('with the header %j gets 400, and neither this request nor a later one runs', (lines) =>
    expectRefusal(goodRequest(undefined, `${lines}\r\n`)),
  );

  it.each(FAULTY_CODINGS)('with the coding %j gets 400 or a cut connection, and no later request runs', (coding) =>
    expectOneAnswerAtMost(goodRequest(undefined, `Transfer-Encoding: ${coding}\r\n`) + '0\r\n\r\n'),
  );

  it.each([
    ...['zz', '-1', '+5\r\nhello', '10000000000000000\r\nx', '0x5\r\nhello', '5\r\nhelloX0'],
    ...['3\r\nhello', '5\nhello'],
  ])('with the chunk %j cuts the connection, and no later request runs', (chunk) =>
    expectOneAnswerAtMost(goodRequest(undefined, 'Transfer-Encoding: chunked\r\n') + `${chunk}\r\n0\r\n\r\n`),
  );
});

describe('a problem document is the answer to', () => {
  interface ProblemCase {
    readonly line: string;
    readonly slug: ProblemSlug;
  }
  const NOT_FOUND = [
    ...[`GET ${PATHS.orderUpdate}`, `GET ${BASE_PATH}x${PATHS.orderUpdate}`, `GET ${BASE_PATH}/nothing`],
    ...['POST /x', 'OPTIONS /x', 'OPTIONS *'],
    ...['GET http://elsewhere/x', 'GET http://[::1/x', 'GET http://a]b/x'],
  ];
  const METHODS_NOT_ALLOWED = ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'];
  it.each<ProblemCase>([
    ...NOT_FOUND.map((line) => ({ line, slug: 'not-found' as const })),
    ...METHODS_NOT_ALLOWED.map((name) => ({ line: `${name} ${PATH}`, slug: 'method-not-allowed' as const })),
    { line: `GET ${BASE_PATH}/problems/%zz`, slug: 'malformed-request' },
    { line: `GET ${BASE_PATH}/problems/%C3`, slug: 'malformed-request' },
    { line: `GET ${PATH}`, slug: 'missing-credentials' },
  ])('$line', async ({ line, slug }) => {
    const { responses } = await send(request(line), 1);
    expectProblemBelowBase(responses[0], slug);
    const { headers } = responses[0] as Reply;
    expect(headers.get('vary')).toBe('Origin');
    expect(headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(headers.get('access-control-expose-headers')).toMatch(/WWW-Authenticate$/);
    if (slug === 'method-not-allowed') expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });
});

describe('the service accepts', () => {
  const webSocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  it.each<{ name: string; bytes: () => string; status: number }>([
    {
      name: 'an absolute target',
      bytes: () => goodRequest(`GET https://elsewhere:8443${PATH}`),
      status: 200,
    },
    {
      name: 'an IPv6 address as host',
      bytes: () => goodRequest(`GET http://[::1]:3000${PATH}`),
      status: 200,
    },
    {
      name: 'a request for a web socket, which gets the usual answer',
      bytes: () => goodRequest(undefined, webSocket),
      status: 200,
    },
    { name: 'an empty line before the request', bytes: () => `\r\n${goodRequest()}`, status: 200 },
    {
      name: 'If-None-Match, and answers 304',
      bytes: () => goodRequest(undefined, 'If-None-Match: *\r\n'),
      status: 304,
    },
    { name: 'OPTIONS without credentials', bytes: () => request(`OPTIONS ${PATH}`), status: 204 },
    { name: 'a request for a page without credentials', bytes: () => request(`GET ${BASE_PATH}/docs`), status: 200 },
  ])('$name', async ({ bytes, status }) => {
    const found = await send(bytes(), 1);
    expect(statusesOf(found)).toEqual([status]);
    expect(found.responses[0]?.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });

  it('a preflight: an allowed origin gets methods and headers, and another origin gets no permission', async () => {
    const preflight = request(`OPTIONS ${PATH}`, 'Access-Control-Request-Method: GET\r\n');
    const { headers } = (await send(preflight, 1)).responses[0] as Reply;
    expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS');
    expect(headers.get('access-control-allow-headers')).toBe(
      'Api-Key, Authorization, Cache-Control, Content-Type, If-None-Match, X-Request-Id, ' +
        'baggage, traceparent, tracestate',
    );
    const other = await send(preflight.replace(ORIGIN, 'https://other'), 1);
    expect(other.responses[0]?.headers.get('access-control-allow-origin')).toBe(null);
  });
});

describe('the end of a connection', () => {
  it.each<{ name: string; bytes: () => string }>([
    { name: 'Connection: close', bytes: () => goodRequest(undefined, 'Connection: close\r\n') },
    { name: 'HTTP/1.0', bytes: () => `GET ${PATH} HTTP/1.0\r\n${credentials()}\r\n` },
  ])('follows the answer to a request with $name, and no later request runs', async ({ bytes }) => {
    const found = await exchange(world.service.port, goodRequest() + bytes() + goodRequest().repeat(2));
    expect([statusesOf(found), found.closed]).toEqual([[200, 200], true]);
    expect(found.responses.at(-1)?.headers.get('connection')).toBe('close');
  });

  it('follows CONNECT without an answer, because Node.js itself closes the connection', async () => {
    const found = await send(request('CONNECT x:1'));
    expect([statusesOf(found), found.closed]).toEqual([[], true]);
  });
});

it('an answer reaches a client that is still sending its body', async () => {
  const body = 'x'.repeat(8_000_000);
  const found = await send(request(`POST ${PATH}`, 'Content-Length: 8000000\r\n') + body, 1);
  expect(statusesOf(found)).toEqual([405]);
});

describe('a credential header', () => {
  const key = (): string => `Api-Key: ${world.key.key}\r\n`;
  it.each<{ name: string; lines: () => string; field: string }>([
    { name: 'two keys', lines: () => key() + credentials(), field: 'Api-Key' },
    { name: 'a key with a comma', lines: () => 'Api-Key: a, b\r\n', field: 'Api-Key' },
    { name: 'a token with a comma', lines: () => 'Authorization: a,b\r\n', field: 'Authorization' },
    {
      name: 'two tokens',
      lines: () => `${credentials()}authorization: Basic x\r\n`,
      field: 'Authorization',
    },
  ])('must come once and without a comma, so the service refuses $name', async ({ lines, field }) => {
    const { responses } = await send(request(`GET ${PATH}`, lines()), 1);
    const { issues } = expectProblemBelowBase(responses[0], 'malformed-request');
    const description = `${field} was sent more than once, or contains a comma: send it once, without a comma.`;
    expect(issues).toEqual([{ description, field, location: 'header' }]);
  });
});

describe('probes', () => {
  it.each('//|/.|/..|/./|;|%2f|%2e|/%2e%2e|%00|?x|/../supported-values|%20|.json'.split('|'))(
    'get no data without credentials if %s is appended to the address of an operation',
    async (suffix) => {
      const lines = `X-Forwarded-For: 127.0.0.1\r\nX-Original-URL: ${PATH}\r\nX-HTTP-Method-Override: GET\r\n`;
      const [status] = statusesOf(await send(request(`GET ${PATH}${suffix}`, lines), 1));
      expect([400, 401, 404]).toContain(status);
    },
  );

  it.each([`/${PATH}`, `/.${PATH}`, `/docs/..${PATH}`, PATH.replace('o', '%6f'), `${PATH}\\`])(
    'find nothing at %s, even with credentials',
    async (path) => expect(statusesOf(await send(goodRequest(`GET ${path}`), 1))).toEqual([404]),
  );

  it('learn nothing about the software of the service', async () => {
    const { responses } = await send(goodRequest(), 1);
    const names = [...(responses[0]?.headers.keys() ?? [])].filter((name) => !/^access/.test(name));
    const ofContent = ['cache-control', 'content-length', 'content-type', 'etag', 'vary'];
    const ofConnection = ['connection', 'date', 'keep-alive'];
    const others = ['x-content-type-options', 'x-request-id'];
    expect(names.toSorted()).toEqual([...ofContent, ...ofConnection, ...others].toSorted());
  });
});

it.each([
  { address: 'an operation', path: PATH, status: 200 },
  { address: 'an unknown address', path: '/nothing', status: 404 },
])('a request to $address with the header Upgrade gets the usual answer', async ({ path, status }) => {
  const lines = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n';
  const reader = await Reader.to(world.service.url);
  const answer = await reader.ask(goodRequest(`GET ${path}`, lines));
  reader.close();
  expect(answer.status).toBe(status);
});

it('X-Request-Id is used if it is a UUID, with or without dashes', async () => {
  const id = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736';
  for (const sent of [id, id.replaceAll('-', '')]) {
    const { responses } = await send(goodRequest(undefined, `X-Request-Id: ${sent}\r\n`), 1);
    expect(responses[0]?.headers.get('x-request-id')).toBe(id);
  }
});

describe('without HOST', () => {
  it('the service listens on every address of IPv4 and IPv6, and logs 127.0.0.1, not ::ffff:127.0.0.1', async () => {
    const service = await world.startReadyReplica({ HOST: '' });
    const hasIPv6 = Object.values(networkInterfaces())
      .flat()
      .some((each) => each?.address === '::1');
    const hosts = hasIPv6 ? ['127.0.0.1', '[::1]'] : ['127.0.0.1'];
    for (const host of hosts) {
      const { headers } = await fetchReply(`http://${host}:${service.port}/nothing`);
      const id = headers.get('x-request-id');
      const line = await service.waitForLog(({ requestId }) => requestId === id);
      expect(line['address']).toBe(host.replaceAll(/[[\]]/g, ''));
    }
  });
});

describe("the client's address in the log line of a request", () => {
  let behindTwoProxies: LocalService;
  beforeAll(async () => {
    behindTwoProxies = await world.startReadyReplica({ TRUSTED_PROXY_HOPS: '2' });
  });

  async function addressFor(service: LocalService, forwarded: string | undefined) {
    const id = randomUUID();
    const headers = { 'X-Request-Id': id, 'X-Forwarded-For': forwarded };
    await world.get('/nothing', { headers, service });
    const line = await service.waitForLog(({ requestId }) => requestId === id);
    return line['address'];
  }

  it("is the peer's address if no proxies are configured, also with X-Forwarded-For", async () => {
    expect(await addressFor(world.service, '192.0.2.1')).toBe('127.0.0.1');
  });

  // If there are fewer addresses than proxies, the client itself may have written them
  it.each([undefined, '192.0.2.1', 'a secret'])(
    "is the peer's address behind two proxies if X-Forwarded-For has fewer than two addresses: %s",
    async (forwarded) => {
      expect(await addressFor(behindTwoProxies, forwarded)).toBe('127.0.0.1');
    },
  );

  it.each([
    { forwarded: '203.0.113.9, 198.51.100.7, 2001:db8::1', address: '198.51.100.7' },
    { forwarded: '192.0.2.7:4711, 198.51.100.7', address: '192.0.2.7' },
    { forwarded: '[2001:db8::1]:80, 198.51.100.7', address: '2001:db8::1' },
    { forwarded: '[2001:db8::2], 198.51.100.7', address: '2001:db8::2' },
    { forwarded: '::ffff:192.0.2.7, 198.51.100.7', address: '192.0.2.7' },
    { forwarded: 'a secret, 198.51.100.7', address: '127.0.0.1' },
  ])('is $address behind two proxies with X-Forwarded-For: $forwarded', async ({ forwarded, address }) => {
    expect(await addressFor(behindTwoProxies, forwarded)).toBe(address);
  });
});
