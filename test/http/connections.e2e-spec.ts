// One rule for each connection, and Node.js's own limits: what clients do that send too much, do not read, or never
// finish. The whole attacks, with their figures, are run by `npm run faults -- strangers`.
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { socketTimeoutOnSignal } from '../support/clocks.js';
import { residentMebibytes } from '../support/linux-process.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { type Reply, exchange } from '../support/raw.js';
import { Reader, requestTo } from '../support/reader.js';
import { type RunningService, until } from '../support/service.js';
import { testWorld } from '../support/test-world.js';

const PAGE = requestTo('/docs/swagger-ui-bundle.js', {});
/** A request whose header does not end. */
const NEVER = `GET ${PATHS.orderUpdate} HTTP/1.1\r\nHost: x\r\n`;
const OPEN = 'order_lookup_connections';
const REFUSED = 'order_lookup_connections_refused_total';

const world = testWorld({}, (database) => database.addCodes(30_000));
let good: string;
let large: string;
beforeAll(() => {
  good = requestTo(PATHS.orderUpdate, world.headers);
  large = requestTo(PATHS.communicationCodes, world.headers);
});

const opened: Socket[] = [];
afterEach(() => opened.splice(0).forEach((socket) => socket.destroy()));

/** Connections of clients that send the bytes at once, and read nothing. */
function open(count: number, port: number, bytes = ''): Promise<Socket[]> {
  const opening = Array.from({ length: count }, async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    opened.push(socket);
    await once(socket, 'connect');
    socket.pause().write(bytes);
    return socket;
  });
  return Promise.all(opening);
}

const statusesOf = (responses: readonly Reply[]): number[] => responses.map(({ status }) => status);

/** A caller that was there before, and asks again and again. Ends with an error if one answer is missing or wrong. */
async function establish({ url }: RunningService): Promise<() => Promise<void>> {
  const caller = await Reader.to(url);
  const asking = new AbortController();
  const running = (async () => {
    for (; !asking.signal.aborted; await pause(10))
      expect((await caller.ask(good)).status).toBe(200);
  })();
  running.catch(() => undefined); // it fails where it is waited for
  return async () => {
    asking.abort();
    await running;
    caller.close();
  };
}

describe('an answer that its client does not read', () => {
  /** As src/bootstrap/create-application.ts has it. */
  const STALLED_MS = 60_000;
  /** Bytes of a connection that the kernel takes at most, about. */
  const BUFFERED = 12_000_000;
  /** How many large answers a client asks for, so that it can read so much several times. */
  const COUNT = 40;

  it('costs no copy of it, however many such clients there are', async () => {
    const { port, pid } = world.service;
    await world.get(PATHS.communicationCodes);
    const before = residentMebibytes(pid);
    await open(100, port, large);
    const answered = `order_lookup_http_requests_total{operation="${PATHS.communicationCodes}",status="200"}`;
    await until(async () => (await world.service.metric(answered)) > 100);
    expect(residentMebibytes(pid) - before).toBeLessThan(100); // 100 copies would be 300 MiB
  });

  it('closes its connection after a while, but not that of a client that reads slowly', async () => {
    const service = await world.replica(socketTimeoutOnSignal(STALLED_MS));
    const [slow] = (await open(2, service.port, large.repeat(COUNT))) as [Socket];
    let read = 0;
    slow.on('data', (chunk) => {
      read += chunk.length;
    });
    const readMore = async (): Promise<void> => {
      const goal = read + BUFFERED;
      slow.resume();
      await until(async () => read >= goal);
      slow.pause();
    };
    const passTime = async (): Promise<void> => {
      const passed = (): number =>
        service.lines.filter(({ msg }) => msg === 'the time has passed').length;
      const before = passed();
      service.signal('SIGUSR2');
      await until(async () => passed() > before);
    };
    const length = COUNT * Buffer.byteLength((await world.get(PATHS.communicationCodes)).text);
    await until(async () => (await service.metric(OPEN)) === 2);
    while ((await service.metric(OPEN)) === 2) {
      await readMore();
      await passTime();
    }
    expect(read).toBeLessThan(length); // it is the other one that was closed
    slow.resume();
    await until(async () => read > length);
  });

  it('may be reset in the middle without a line in the log', async () => {
    const [client] = (await open(1, world.service.port, large)) as [Socket];
    await once(client.resume(), 'data');
    client.resetAndDestroy();
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    expect(world.service.lines.filter(({ level }) => /error|fatal/.test(level))).toEqual([]);
  });
});

describe('a connection on which more than 100 requests wait', () => {
  it('is closed, and takes little memory', async () => {
    const { service } = world;
    const before = residentMebibytes(service.pid);
    const { closed } = await exchange(service.port, PAGE.repeat(2_000));
    expect(closed).toBe(true);
    expect(residentMebibytes(service.pid) - before).toBeLessThan(128);
  });

  it('is closed, and others are answered, also where a hundred clients do it at once', async () => {
    const { service } = world;
    const series = `${REFUSED}{limit="waiting-requests"}`;
    const stop = await establish(service);
    const refused = await service.metric(series);
    await open(100, service.port, PAGE.repeat(2_000));
    await until(async () => (await service.metric(series)) === refused + 100);
    expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    await stop();
  });

  it('is none with a hundred', async () => {
    const { responses } = await exchange(world.service.port, good.repeat(100), { answers: 100 });
    expect(statusesOf(responses)).toEqual(Array.from({ length: 100 }, () => 200));
  });
});

describe('25 connections with 50 pipelined requests each', () => {
  it('get all answers in the order of the requests, again and again', async () => {
    const kinds = [
      [PATHS.orderUpdate, 200, 'GET', { ...world.headers }],
      [PATHS.orderUpdate, 401, 'GET', { Authorization: world.token }],
      [PATHS.orderCaptureV2, 405, 'POST', {}],
      ['/docs', 200, 'GET', {}],
      ['/nothing', 404, 'GET', {}],
    ] as const;
    const expectOrder = async (): Promise<void> => {
      const asked = Array.from({ length: 50 }, () => {
        const [path, status, method, headers] = kinds[randomInt(kinds.length)] ?? kinds[0];
        const id = randomUUID();
        const bytes = requestTo(path, { ...headers, 'X-Request-Id': id }, method);
        return { bytes, answer: `${status} ${id}` };
      });
      const bytes = asked.map((one) => one.bytes).join('');
      const { responses } = await exchange(world.service.port, bytes, { answers: 50 });
      expect(
        responses.map(({ status, headers }) => `${status} ${headers.get('x-request-id')}`),
      ).toEqual(asked.map(({ answer }) => answer));
    };
    for (let round = 0; round < 4; round++)
      await Promise.all(Array.from({ length: 25 }, expectOrder));
  });
});

describe('a connection that sends garbage', () => {
  it('behind requests whose answers it does not read takes no memory', async () => {
    const { port, pid } = world.service;
    const before = residentMebibytes(pid);
    const clients = await open(4, port, PAGE.repeat(10) + 'garbage\r\n\r\n');
    const garbage = Buffer.alloc(100 * 1024 ** 2, 'garbage ');
    for (const client of clients) client.write(garbage);
    for (let answered = 0; answered < 100; answered++)
      expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    expect(residentMebibytes(pid) - before).toBeLessThan(64);
  });

  it('gets one answer, which is counted once', async () => {
    const series = 'order_lookup_http_requests_total{operation="none",status="400"}';
    const counted = await world.service.metric(series);
    const garbage = Array.from({ length: 50 }, () => 'garbage\r\n\r\n');
    const { responses, closed } = await exchange(world.service.port, garbage);
    expect({ statuses: statusesOf(responses), closed }).toEqual({ statuses: [400], closed: true });
    expect(await world.service.metric(series)).toBe(counted + 1);
  });
});

describe('an error in a body', () => {
  const CHUNKED = { 'Transfer-Encoding': 'chunked' };
  const post = (path: string): string => requestTo(path, CHUNKED, 'POST');
  const badChunk = 'zz\r\n';

  it.each([
    { name: 'behind its answer', pieces: [post(PATHS.orderUpdate), badChunk], statuses: [405] },
    { name: 'of an unknown path', pieces: [post('/nothing'), badChunk], statuses: [404] },
  ])('$name adds no second answer, and closes the connection', async ({ pieces, statuses }) => {
    const { responses, closed } = await exchange(world.service.port, pieces, { pauseMs: 200 });
    expect({ statuses: statusesOf(responses), closed }).toEqual({ statuses, closed: true });
  });

  it('behind a pending answer closes the connection when all have been sent', async () => {
    const packet = good + post(PATHS.orderUpdate) + badChunk;
    const { responses, closed } = await exchange(world.service.port, packet);
    expect({ statuses: statusesOf(responses), closed }).toEqual({
      statuses: [200, 405],
      closed: true,
    });
  });
});

describe('connections that never finish a request', () => {
  it('are closed, with 408 where a request has begun', async () => {
    const { port } = world.service;
    const slowly = Array.from(`GET ${PATHS.orderUpdate}?${'x'.repeat(100)}`); // five minutes of bytes
    const [silent, ...begun] = await Promise.all([
      exchange(port, []),
      exchange(port, NEVER),
      exchange(port, slowly, { pauseMs: 3_000 }),
    ]);
    expect(silent).toEqual({ closed: true, responses: [] });
    for (const { responses } of begun) {
      const reply = responses[0] as Reply;
      expectProblem(reply, 'request-timeout');
      const id = reply.headers.get('x-request-id');
      const line = await world.service.waitForLog(({ requestId }) => requestId === id);
      expect(line['durationMs']).toBeGreaterThan(9_000); // it begins with the connection
    }
  });
});
