// Tests our limit of waiting requests, and the time limits of Node.js for clients that never finish a request.
import { randomUUID } from 'node:crypto';
import { type Socket, connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { StalledClients } from '../support/stalled-clients.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { type Exchange, type Reply, exchange, fetchReply } from '../support/exchange.js';
import { Reader, requestTo } from '../support/reader.js';
import { nextEvent } from '../support/waiting.js';

/** A request for the largest public page. If the client does not read the page, its connection is soon full. */
const PAGE = requestTo('/docs/swagger-ui-bundle.js', {});
const REQUEST_WITHOUT_END = `GET ${PATHS.orderUpdate} HTTP/1.1\r\nHost: x\r\n`;
const REFUSED_CONNECTIONS = 'order_lookup_connections_refused_total{limit="waiting-requests"}';

/** The same number as in src/http/request-context.middleware.ts. */
const MAX_WAITING_REQUESTS = 32;

const world = localWorld();
let goodRequest: string;
beforeAll(() => {
  goodRequest = requestTo(PATHS.orderUpdate, world.headers);
});

const clients = new StalledClients();
afterEach(() => clients.close());

const statusesOf = (responses: readonly Reply[]): number[] => responses.map(({ status }) => status);

it('a client that resets its connection during an answer causes no error in the log', async () => {
  const { port } = world.service;
  const [client] = (await clients.open({ count: 1, port, bytes: PAGE })) as [Socket];
  await nextEvent(client.resume(), 'data');
  client.resetAndDestroy();
  expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
  expect(world.service.lines.filter(({ level }) => /error|fatal/.test(level))).toEqual([]);
});

describe('a connection', () => {
  it('with too many waiting requests is closed and counted once, and other connections get answers', async () => {
    const { service } = world;
    const caller = await Reader.to(service.url);
    const before = await service.readMetric(REFUSED_CONNECTIONS);
    const bytes = PAGE.repeat(100);
    const attackers = await clients.open({ count: 20, port: service.port, bytes });
    const closing = attackers.map((attacker) => clients.readToEnd(attacker));
    expect((await fetchReply(`${service.managementUrl}/health/live`)).status).toBe(200);
    expect((await caller.ask(goodRequest)).status).toBe(200);
    await Promise.all(closing);
    expect((await caller.ask(goodRequest)).status).toBe(200);
    expect(await service.readMetric(REFUSED_CONNECTIONS)).toBe(before + 20);
    caller.close();
  });

  it.each([
    { count: MAX_WAITING_REQUESTS, fate: 'stays open', isClosed: false },
    { count: MAX_WAITING_REQUESTS + 1, fate: 'is closed', isClosed: true },
  ])('with $count waiting requests $fate', async ({ count, isClosed }) => {
    const packet = requestTo('/nothing', {}).repeat(count);
    const { responses, closed } = await exchange(world.service.port, packet, { answers: count });
    expect(closed).toBe(isClosed);
    if (!isClosed) expect(statusesOf(responses)).toEqual(Array.from({ length: count }, () => 404));
  });
});

describe('25 connections with 30 pipelined requests each', () => {
  const CONNECTIONS = 25;
  const REQUESTS = 30; // fewer than MAX_WAITING_REQUESTS
  interface Kind {
    readonly path: string;
    readonly method?: string;
    readonly headers?: () => Record<string, string>;
    readonly status: number;
  }
  const kinds: readonly Kind[] = [
    { path: PATHS.orderUpdate, headers: () => world.headers, status: 200 },
    { path: PATHS.orderUpdate, headers: () => ({ Authorization: world.token }), status: 401 },
    { path: PATHS.orderCaptureV2, method: 'POST', status: 405 },
    { path: '/docs', status: 200 },
    { path: '/nothing', status: 404 },
  ];

  function makeRequest(kind: Kind): { readonly bytes: string; readonly answer: string } {
    const id = randomUUID();
    const headers = { ...kind.headers?.(), 'X-Request-Id': id };
    return {
      bytes: requestTo(kind.path, headers, kind.method),
      answer: `${kind.status} ${id}`,
    };
  }

  async function expectOrder(packetKinds: readonly Kind[]): Promise<void> {
    const requests = packetKinds.map(makeRequest);
    const packet = requests.map(({ bytes }) => bytes).join('');
    const { responses } = await exchange(world.service.port, packet, { answers: REQUESTS });
    const answers = responses.map(({ status, headers }) => `${status} ${headers.get('x-request-id')}`);
    expect(answers).toEqual(requests.map(({ answer }) => answer));
  }

  it('get all answers in the order of the requests', async () => {
    const packet = fc.array(fc.constantFrom(...kinds), { minLength: REQUESTS, maxLength: REQUESTS });
    const packets = fc.array(packet, { minLength: CONNECTIONS, maxLength: CONNECTIONS });
    const property = fc.asyncProperty(packets, async (all) => {
      await Promise.all(all.map(expectOrder));
    });
    await fc.assert(property, { numRuns: 1, endOnFailure: true }); // if it fails, fast-check prints the seed
  });
});

it('a connection is closed after a request with Upgrade, so that no body is taken for a request', async () => {
  const upgrade = requestTo(PATHS.orderUpdate, { ...world.headers, Connection: 'Upgrade', Upgrade: 'websocket' });
  // After Upgrade, Node.js drops the rest of the packet: here the header of a second request. If the connection stayed
  // open, Node.js would run the body of the second request as a request
  const header = requestTo('/nothing', { 'Content-Length': String(goodRequest.length) });
  const body = goodRequest;
  const pieces = [upgrade + header, body];
  const { responses, closed } = await exchange(world.service.port, pieces, { answers: 2, pauseMs: 200 });
  expect({ statuses: statusesOf(responses), closed }).toEqual({ statuses: [200], closed: true });
});

describe('the connection is closed if garbage comes', () => {
  const CHUNKED = { 'Transfer-Encoding': 'chunked' };
  const BAD_CHUNK = 'zz\r\n';

  it.each<{ name: string; pieces: () => string[]; statuses: number[] }>([
    {
      name: 'in the body of a GET that was already answered',
      pieces: () => [requestTo(PATHS.orderUpdate, { ...world.headers, ...CHUNKED }), BAD_CHUNK],
      statuses: [200],
    },
    {
      name: 'in the body of a POST that was already answered',
      pieces: () => [requestTo(PATHS.orderUpdate, CHUNKED, 'POST'), BAD_CHUNK],
      statuses: [405],
    },
    {
      name: 'in the body of a request to an unknown path',
      pieces: () => [requestTo('/nothing', CHUNKED), BAD_CHUNK],
      statuses: [404],
    },
    {
      name: 'after a request that was already answered',
      pieces: () => [goodRequest, 'garbage\r\n\r\n'],
      statuses: [200, 400],
    },
  ])('$name: the answers are $statuses', async ({ pieces, statuses }) => {
    const { responses, closed } = await exchange(world.service.port, pieces(), { pauseMs: 200 });
    expect({ statuses: statusesOf(responses), closed }).toEqual({ statuses, closed: true });
  });

  it.each([
    { name: 'Expect', lines: 'Host: x\r\nExpect: x', status: 417 },
    { name: 'a missing Host', lines: 'A: b', status: 400 },
  ])(
    'after a request that Node.js itself answers because of $name: there is no second answer',
    async ({ lines, status }) => {
      const client = connect(world.service.port, '127.0.0.1').setEncoding('latin1');
      const bytes = `GET ${PATHS.orderUpdate} HTTP/1.1\r\n${lines}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      client.on('error', () => undefined).once('data', () => client.write(BAD_CHUNK));
      client.write(bytes);
      let received = '';
      client.on('data', (text: string) => {
        received += text;
      });
      await nextEvent(client, 'close');
      expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
    },
  );
});

describe('connections that never finish a request', () => {
  /** One byte every three seconds takes seven minutes, far longer than HEADERS_TIMEOUT_MS of limits.ts. */
  const slowly = Array.from(`GET ${PATHS.orderUpdate}?${'x'.repeat(100)}`);
  const cases: { what: string; pieces: string | string[]; pauseMs?: number }[] = [
    { what: 'whose header never ends', pieces: REQUEST_WITHOUT_END },
    { what: 'of which one byte comes every three seconds', pieces: slowly, pauseMs: 3_000 },
  ];
  // These exchanges end at the time limits of Node.js. They begin together, because one after the other takes longer
  let silent: Promise<Exchange>;
  let unfinished: Promise<Exchange>[];
  let withoutBody: Promise<Exchange>;
  beforeAll(() => {
    const { port } = world.service;
    silent = exchange(port, []);
    unfinished = cases.map(({ pieces, pauseMs }) => exchange(port, pieces, { pauseMs }));
    withoutBody = exchange(port, requestTo(PATHS.orderUpdate, { ...world.headers, 'Content-Length': '100' }));
  });

  it('are closed without an answer if no request has begun', async () => {
    expect(await silent).toEqual({ closed: true, responses: [] });
  });

  it('are closed after the answer if the ignored body does not come', async () => {
    const { responses, closed } = await withoutBody;
    expect({ statuses: statusesOf(responses), closed }).toEqual({ statuses: [200], closed: true });
  });

  it.each(cases.map(({ what }, index) => ({ what, index })))('get 408 for a request $what', async ({ index }) => {
    const [reply] = ((await unfinished[index]) as Exchange).responses as [Reply];
    expectProblem(reply, 'request-timeout');
    const id = reply.headers.get('x-request-id');
    const line = await world.service.waitForLog(({ requestId }) => requestId === id);
    expect(line).toMatchObject({ statusCode: 408, address: '127.0.0.1' });
  });
});
