import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { residentMebibytes } from '../support/linux-process.js';
import { expectProblem } from '../support/problem.js';
import { exchange } from '../support/raw.js';
import { Reader } from '../support/reader.js';
import { RunningService, until } from '../support/service.js';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

let world: World;
let request: (path: string) => string;

beforeAll(async () => {
  world = await World.create({}, (database) =>
    database.query(
      `insert into communication_code select 'TYPE', lpad(n::text, 6, '0'), rpad('A code that makes the answer long ', 100, '.') from generate_series(1, 20000) as n`,
    ),
  );
  request = (path) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nApi-Key: ${world.key.key}\r\nAuthorization: ${world.token}\r\n\r\n`;
});
afterAll(() => world?.close());

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

describe('an answer that its client does not read', () => {
  it('costs no copy of it, however many such clients there are', async () => {
    const { port, pid } = world.service;
    await world.get(PATHS.communicationCodes);
    const before = residentMebibytes(pid);
    const clients = await Promise.all(Array.from({ length: 100 }, () => open(port)));
    for (const client of clients) client.pause().write(request(PATHS.communicationCodes));
    await until(
      async () =>
        (await world.service.metric(
          `order_lookup_http_requests_total{operation="${PATHS.communicationCodes}",status="200"}`,
        )) > 100,
    );
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    expect(residentMebibytes(pid) - before).toBeLessThan(100); // 100 copies would be 300 MiB
    for (const client of clients) client.destroy();
  });

  it('may be reset in the middle without a line in the log', async () => {
    const client = await open(world.service.port);
    client.write(request(PATHS.communicationCodes));
    await once(client, 'data');
    client.resetAndDestroy();
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    expect(
      world.service.lines.filter(({ level }) => level === 'error' || level === 'fatal'),
    ).toEqual([]);
  });
});

describe('replies that strangers do not read', () => {
  let service: RunningService;
  afterAll(() => service?.kill());

  it('are limited on all connections together, and callers stay', async () => {
    service = await RunningService.start({
      DATABASE_URL: world.database.urlOf('order_lookup_service'),
      ...world.issuer.environment,
    });
    await service.ready();
    const caller = await Reader.to(service.url);
    expect((await caller.ask(request(PATHS.orderUpdate))).status).toBe(200);
    const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
    const strangers = await Promise.all(Array.from({ length: 50 }, () => open(service.port)));
    for (const stranger of strangers) stranger.pause().write(page.repeat(1_000));
    const disconnected = 'order_lookup_connections_refused_total{whose="stranger"}';
    await until(async () => (await service.metric(disconnected)) > 40); // five of them reach the limit
    expect((await caller.ask(request(PATHS.orderUpdate))).status).toBe(200);
    const { responses } = await exchange(service.port, request(PATHS.orderUpdate).repeat(5), {
      answers: 5,
    });
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(service.lines).toContainEqual(
      expect.objectContaining({ limit: '5000 replies that strangers have not read' }),
    );
    for (const stranger of strangers) stranger.destroy();
    caller.close();
  });
});

describe('a connection that sends garbage', () => {
  it('behind requests whose answers it does not read takes no memory, and the service still answers', async () => {
    const { port, pid } = world.service;
    const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
    const before = residentMebibytes(pid);
    const clients = await Promise.all(Array.from({ length: 4 }, () => open(port)));
    const garbage = Buffer.alloc(1024 ** 2, 'garbage ');
    let largest = 0;
    for (const client of clients) client.pause().write(page.repeat(10));
    for (let sent = 0; sent < 100; sent++) {
      for (const client of clients) if (client.writableLength === 0) client.write(garbage);
      await pause(5);
      largest = Math.max(largest, residentMebibytes(pid));
    }
    expect(largest - before).toBeLessThan(48);
    for (const client of clients) client.destroy();
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

describe('at the limit of connections', () => {
  const LIMIT = 192; // 64 descriptors are left for other things
  let service: RunningService;
  const ask = async (client: Reader): Promise<number> =>
    (await client.ask(request(PATHS.orderUpdate))).status;
  const caller = async (): Promise<Reader> => {
    const client = await Reader.to(service.url);
    expect(await ask(client)).toBe(200);
    return client;
  };

  beforeEach(async () => {
    service = await RunningService.start(
      { DATABASE_URL: world.database.urlOf('order_lookup_service'), ...world.issuer.environment },
      { descriptors: LIMIT + 64 },
    );
    await service.ready();
  });
  afterEach(() => service.kill());

  it('connections without a valid key are closed: the others stay, new ones are served, and the management port answers', async () => {
    const callers = await Promise.all(Array.from({ length: 20 }, caller));
    const silent: Socket[] = [];
    const failed: number[] = [];
    for (let wave = 0; wave < 4; wave++) {
      silent.push(...(await Promise.all(Array.from({ length: 150 }, () => open(service.port)))));
      for (const status of await Promise.all(callers.map(ask)))
        if (status !== 200) failed.push(status);
      const newcomer = await caller();
      newcomer.close();
      expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    }
    expect(failed).toEqual([]);
    expect(await service.metric('order_lookup_connections')).toBeLessThanOrEqual(LIMIT);
    expect(
      await service.metric('order_lookup_connections_refused_total{whose="stranger"}'),
    ).toBeGreaterThan(0);
    for (const socket of silent) socket.destroy();
    for (const client of callers) client.close();
  });

  it('a new connection gets 503 while all others have a valid key, and is served when one of them ends', async () => {
    const callers = await Promise.all(Array.from({ length: LIMIT }, caller));
    const { responses, closed } = await exchange(service.port, request(PATHS.orderUpdate));
    const [response] = responses;
    expectProblem(response as NonNullable<typeof response>, 'overloaded');
    expect({ closed, later: Number(response?.headers.get('retry-after')) > 0 }).toEqual({
      closed: true,
      later: true,
    });
    callers.pop()?.close();
    await until(
      async () =>
        (await exchange(service.port, request(PATHS.orderUpdate), { answers: 1 })).responses[0]
          ?.status === 200,
    );
    expect((await Promise.all(callers.map(ask))).every((status) => status === 200)).toBe(true);
    for (const client of callers) client.close();
  });
});
