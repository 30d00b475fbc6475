// One rule for each connection, and Node's own limits: what clients do that send too much, do not read, or never finish.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { cpuSeconds, residentMebibytes } from '../support/linux-process.js';
import { exchange } from '../support/raw.js';
import { Reader, requestTo } from '../support/reader.js';
import { RunningService, until } from '../support/service.js';
import { PATHS } from '../support/paths.js';
import { undisturbed } from '../support/undisturbed.js';
import { World } from '../support/world.js';

let world: World;
let good: string;
let large: string;
const PAGE = requestTo('/docs/swagger-ui-bundle.js', {});

beforeAll(async () => {
  world = await World.create({}, (database) =>
    database.query(
      `insert into communication_code select 'TYPE', lpad(n::text, 6, '0'), rpad('A code that makes the answer long ', 100, '.') from generate_series(1, 20000) as n`,
    ),
  );
  const credentials = { 'Api-Key': world.key.key, Authorization: world.token };
  good = requestTo(PATHS.orderUpdate, credentials);
  large = requestTo(PATHS.communicationCodes, credentials);
});
afterAll(() => world?.close());

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};
const opened: Socket[] = [];
afterEach(() => opened.splice(0).forEach((socket) => socket.destroy()));
async function openMany(count: number, port: number): Promise<Socket[]> {
  opened.splice(0).forEach((socket) => socket.destroy());
  const sockets = await Promise.all(Array.from({ length: count }, () => open(port)));
  opened.push(...sockets);
  return sockets;
}

/** A caller that was there before: asks again and again, and gives the longest time that an answer took, in milliseconds. */
async function establish({ url }: RunningService): Promise<() => Promise<number>> {
  const caller = await Reader.to(url);
  const asking = new AbortController();
  let slowest = 0;
  const running = (async () => {
    while (!asking.signal.aborted) {
      const askedAt = performance.now();
      expect((await caller.ask(good)).status).toBe(200);
      slowest = Math.max(slowest, performance.now() - askedAt);
      await pause(5);
    }
  })();
  running.catch(() => undefined); // it fails where it is waited for
  return async () => {
    asking.abort();
    await running;
    caller.close();
    return slowest;
  };
}

/** Connections of another process that all send these bytes at once. */
function attacking(port: number, count: number, reading: string, bytes: string): ChildProcess {
  const child = spawn(process.execPath, ['test/http/attack.mjs', `${port}`, `${count}`, reading], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin?.write(`${bytes}\0`);
  return child;
}

describe('an answer that its client does not read', () => {
  it('costs no copy of it, however many such clients there are', async () => {
    const { port, pid } = world.service;
    await world.get(PATHS.communicationCodes);
    const before = residentMebibytes(pid);
    const clients = await openMany(100, port);
    for (const client of clients) client.pause().write(large);
    const answered = `order_lookup_http_requests_total{operation="${PATHS.communicationCodes}",status="200"}`;
    await until(async () => (await world.service.metric(answered)) > 100);
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    expect(residentMebibytes(pid) - before).toBeLessThan(100); // 100 copies would be 300 MiB
  });

  it('may be reset in the middle without a line in the log', async () => {
    const client = await open(world.service.port);
    client.write(large);
    await once(client, 'data');
    client.resetAndDestroy();
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    expect(world.service.lines.filter(({ level }) => /error|fatal/.test(level))).toEqual([]);
  });
});

describe('a connection on which more than 100 requests wait', () => {
  const refused = 'order_lookup_connections_refused_total{limit="waiting-requests"}';

  it.each([
    // So large that one packet has no more than a hundred: read, they are answered; unread, no more of them are read
    ['read, with a key', () => good, 'read', false],
    ['unread, with a key', () => good, 'unread', false],
    ['unread, with a key, large', () => large, 'unread', false],
    ['read, without a key', () => PAGE, 'read', true],
    ['unread, without a key', () => PAGE, 'unread', true],
  ])(
    'is closed, and 100 of them with 2,000 requests each disturb nobody: %s',
    async (_, request, reading, mustClose) => {
      await undisturbed(async () => {
        const { service } = world;
        const stop = await establish(service);
        const before = residentMebibytes(service.pid);
        const refusedBefore = await service.metric(refused);
        const attack = attacking(service.port, 100, reading, request().repeat(2_000));
        let largest = 0;
        try {
          for (let quiet = 0, cpu = 0; quiet < 5; quiet++) {
            await pause(200);
            const { status } = await fetch(`${service.managementUrl}/health/live`);
            expect(status).toBe(200);
            largest = Math.max(largest, residentMebibytes(service.pid));
            const now = cpuSeconds(service.pid);
            if (now - cpu > 0.06) quiet = 0;
            cpu = now;
          }
        } finally {
          attack.kill();
        }
        const { responses } = await exchange(service.port, good, { answers: 1 });
        expect(responses.map(({ status }) => status)).toEqual([200]);
        if (mustClose) expect(await service.metric(refused)).toBe(refusedBefore + 100);
        expect(await stop()).toBeLessThan(10_000); // less than 1 s on a quiet machine, 31 s without the rule
        expect(largest - before).toBeLessThan(192);
      });
    },
  );

  it('is none with a hundred', async () => {
    const { responses } = await exchange(world.service.port, good.repeat(100), { answers: 100 });
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(responses).toHaveLength(100);
  });
});

describe('a connection that sends garbage', () => {
  it('behind requests whose answers it does not read takes no memory, and the service still answers', async () => {
    const { port, pid } = world.service;
    const before = residentMebibytes(pid);
    const clients = await openMany(4, port);
    const garbage = Buffer.alloc(1024 ** 2, 'garbage ');
    let largest = 0;
    for (const client of clients) client.pause().write(PAGE.repeat(10));
    for (let sent = 0; sent < 100; sent++) {
      for (const client of clients) if (client.writableLength === 0) client.write(garbage);
      await pause(5);
      largest = Math.max(largest, residentMebibytes(pid));
    }
    expect(largest - before).toBeLessThan(48);
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
  });

  it('gets one answer, which is counted once', async () => {
    const counted = await world.service.requestsCounted();
    const garbage = Array.from({ length: 50 }, () => 'garbage\r\n\r\n');
    const { responses, closed } = await exchange(world.service.port, garbage);
    expect({ statuses: responses.map(({ status }) => status), closed }).toEqual({
      statuses: [400],
      closed: true,
    });
    expect(await world.service.requestsCounted()).toBe(counted + 1);
  });
});

describe('connections that never finish a request', () => {
  const NEVER = `GET ${PATHS.orderUpdate} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;

  it('more than 5,000 of them keep nobody out, and are closed', async () => {
    await undisturbed(async () => {
      const { service } = world;
      const stop = await establish(service);
      const silent = await openMany(5_100, service.port);
      for (const [at, client] of silent.entries()) if (at % 10 > 0) client.write(NEVER);
      for (let newcomer = 0; newcomer < 5; newcomer++) {
        const { responses } = await exchange(service.port, good, { answers: 1 });
        expect(responses.map(({ status }) => status)).toEqual([200]);
      }
      expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
      await until(async () => (await service.metric('order_lookup_connections')) < 10, {
        timeoutMs: 15_000,
      });
      expect(await stop()).toBeLessThan(10_000); // less than 1 s on a quiet machine, 31 s without the rule
    });
  });

  it('as many as the process may hold keep out newcomers only until they are closed', async () => {
    const service = await RunningService.start(
      { DATABASE_URL: world.database.urlOf('order_lookup_service'), ...world.issuer.environment },
      { descriptors: 192 + 64 }, // 64 are left for other things
    );
    try {
      await service.ready();
      await undisturbed(async () => {
        const stop = await establish(service);
        const silent = await openMany(400, service.port);
        for (const [at, client] of silent.entries()) if (at % 2 > 0) client.write(NEVER);
        expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
        expect(await service.metric('order_lookup_connections')).toBe(192);
        const served = async (): Promise<boolean> =>
          (await exchange(service.port, good, { answers: 1 })).responses[0]?.status === 200;
        expect(await served()).toBe(false);
        await until(served, { timeoutMs: 15_000, everyMs: 100 });
        await stop();
      });
      const refused = 'order_lookup_connections_refused_total{limit="connections"}';
      expect(await service.metric(refused)).toBeGreaterThan(200);
    } finally {
      await service.kill();
    }
  });
});

describe('Expect: 100-continue with chunks', () => {
  it('gets a final answer, since the body is not read', async () => {
    const { responses, closed } = await exchange(
      world.service.port,
      `GET ${PATHS.orderUpdate} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect({ statuses: responses.map(({ status }) => status), closed }).toEqual({
      statuses: [400],
      closed: true,
    });
  });
});
