// Every reply that leaves the process has the same form and is counted and logged under its id, whichever part of the program found out about it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProblemSlug } from '../../src/problems/problem-types.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { type RawResponse, exchange } from '../support/raw.js';
import { World } from '../support/world.js';

const BASE = '/lookups/v1';
const PATH = BASE + PATHS.orderUpdate;
const ORIGIN = 'https://portal.example.com';
let world: World;
let credentials: string;

beforeAll(async () => {
  world = await World.create({ LOG_LEVEL: 'debug', BASE_PATH: BASE, CORS_ORIGINS: ORIGIN });
  credentials = `Api-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\n`;
});
afterAll(() => world?.close());

/** Sends bytes, and gives the one answer, which has to be counted and logged. */
async function ask(bytes: string): Promise<RawResponse> {
  const counted = await world.service.requestsCounted();
  const { responses } = await exchange(world.service.port, [Buffer.from(bytes, 'latin1')], {
    answers: 1,
  });
  const [response] = responses;
  expect(responses).toHaveLength(1);
  const { headers, status } = response as RawResponse;
  const line = await world.service.waitForLog(
    ({ requestId }) => requestId === headers.get('x-request-id'),
  );
  expect({ status: line['status'], counted: await world.service.requestsCounted() }).toEqual({
    status,
    counted: counted + 1,
  });
  return response as RawResponse;
}
const request = (target: string, more = '', method = 'GET'): string =>
  `${method} ${target} HTTP/1.1\r\nHost: x\r\nOrigin: ${ORIGIN}\r\n${more}\r\n`;

describe('a problem document is the answer to', () => {
  it.each<[string, string, ProblemSlug, number?]>([
    ['a path outside BASE_PATH', request(PATHS.orderUpdate), 'not-found'],
    ['/ outside BASE_PATH', request('/'), 'not-found'],
    ['POST outside BASE_PATH', request('/x', '', 'POST'), 'not-found'],
    ['OPTIONS outside BASE_PATH', request('/x', '', 'OPTIONS'), 'not-found'],
    [
      'a path that only begins like BASE_PATH',
      request(`${BASE}x${PATHS.orderUpdate}`),
      'not-found',
    ],
    ['a path within BASE_PATH', request(`${BASE}/nothing`), 'not-found'],
    ['an absolute target elsewhere', request('http://elsewhere/'), 'not-found'],
    ['an absolute target without a path', request('http://elsewhere?x'), 'not-found'],
    ['*', request('*'), 'not-found'],
    [
      'a path whose percent-encoding is broken',
      request(`${BASE}/problems/%zz`),
      'malformed-request',
    ],
    [
      'a path whose percent-encoding is no UTF-8',
      request(`${BASE}/problems/%C3`),
      'malformed-request',
    ],
    ['an IPv6 address without an end', request('http://[::1/orders'), 'malformed-request'],
    ['a host with a bracket', request('http://a]b/orders'), 'malformed-request'],
    [
      'a host with a space in percent-encoding that is broken',
      request('http://a%2/orders'),
      'malformed-request',
    ],
    ['user information in a target', request('http://me:secret@x/orders'), 'malformed-request'],
    ['a port that is none', request('http://x:y/orders'), 'malformed-request'],
    ['an empty host', request('http:///orders'), 'malformed-request'],
    ['another scheme', request('ftp://x/orders'), 'malformed-request'],
    ['another method', request(PATH, '', 'DELETE'), 'method-not-allowed'],
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n', 'method-not-allowed'],
    [
      'CONNECT with a body',
      'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\nContent-Length: 3\r\n\r\n',
      'method-not-allowed',
    ],
    ['bytes that are no request', 'nonsense\r\n\r\n', 'malformed-request'],
    ['a request without an end, its target too long', `GET /${'x'.repeat(60_000)}`, 'uri-too-long'],
    [
      'headers that are too large',
      request(PATH, `A: ${'x'.repeat(20_000)}\r\n`),
      'headers-too-large',
    ],
    ['an expectation', request(PATH, 'Expect: x\r\n'), 'malformed-request', 417],
    ['a body', request(PATH, 'Content-Length: 1\r\n'), 'malformed-request'],
    ['no credentials', request(PATH), 'missing-credentials'],
  ])('%s', async (_name, bytes, slug, ...[status]) => {
    const response = await ask(bytes);
    const type = `${BASE}/problems/${slug}`;
    const document = JSON.parse(response.text) as { type: string };
    expect(document.type).toBe(type);
    expectProblem(
      { ...response, text: JSON.stringify({ ...document, type: `/problems/${slug}` }) },
      slug,
      status,
    );
    expect(response.headers.get('vary')).toBe('Origin');
    const wasParsed = bytes.includes('Origin:') && slug !== 'headers-too-large';
    if (wasParsed) expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });
});

describe('other answers', () => {
  it.each([
    ['200', () => request(PATH, credentials), 200],
    ['304', () => request(PATH, `${credentials}If-None-Match: *\r\n`), 304],
    ['OPTIONS', () => request(PATH, '', 'OPTIONS'), 204],
    ['HEAD', () => request(PATH, credentials + 'Connection: close\r\n', 'HEAD'), 200],
    ['a page', () => request(`${BASE}/docs`), 200],
    ['an absolute target', () => request(`https://elsewhere:8443${PATH}`, credentials), 200],
    ['an IPv6 address as host', () => request(`http://[::1]:3000${PATH}`, credentials), 200],
  ])('go through the same door: %s', async (_name, bytes, status) => {
    const { headers, ...response } = await ask(bytes());
    expect({
      status: response.status,
      origin: headers.get('access-control-allow-origin'),
      vary: headers.get('vary'),
    }).toEqual({ status, origin: ORIGIN, vary: 'Origin' });
  });

  it('401 keeps both challenges beside the fields of CORS', async () => {
    const { headers } = await ask(request(PATH));
    expect(headers.get('www-authenticate')).toMatch(/^ApiKey realm=.*, Bearer realm=/);
    expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
  });

  it('a preflight names methods and headers; another origin gets no permission', async () => {
    const preflight = `Access-Control-Request-Method: GET\r\n`;
    const { headers } = await ask(request(PATH, preflight, 'OPTIONS'));
    expect({
      methods: headers.get('access-control-allow-methods'),
      headers: headers.get('access-control-allow-headers'),
      allow: headers.get('allow'),
    }).toEqual({
      methods: 'GET, HEAD, OPTIONS',
      headers: 'Api-Key, Authorization, If-None-Match, X-Request-Id, traceparent',
      allow: 'GET, HEAD, OPTIONS',
    });
    const other = await ask(request(PATH, preflight, 'OPTIONS').replace(ORIGIN, 'https://other'));
    expect({
      status: other.status,
      origin: other.headers.get('access-control-allow-origin'),
      vary: other.headers.get('vary'),
    }).toEqual({ status: 204, origin: null, vary: 'Origin' });
  });
});

describe('the Host header', () => {
  it.each(['a b', 'a/b', 'a?b', 'me@a', 'a:b', '[::1', 'a\x80', 'a%2', '"a"', 'a\\b'])(
    '"%s" is refused',
    async (host) => {
      const response = await ask(`GET ${PATH} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect({ status: response.status, connection: response.headers.get('connection') }).toEqual({
        status: 400,
        connection: 'close',
      });
    },
  );

  it.each([
    '',
    'a',
    'a.example:443',
    '127.0.0.1:1',
    '[::1]',
    '[2001:db8::1]:80',
    'a_b',
    'a:',
    '%41',
  ])('"%s" is accepted', async (host) => {
    const response = await ask(`GET ${PATH} HTTP/1.1\r\nHost: ${host}\r\n${credentials}\r\n`);
    expect(response.status).toBe(200);
  });
});
