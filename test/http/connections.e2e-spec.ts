import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type Socket, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '../support/problem.js';
import { exchange } from '../support/raw.js';
import { RunningService, until } from '../support/service.js';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

const MEBIBYTE = 1024;
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
const resident = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

describe('an answer that its client does not read', () => {
  it('costs no copy of it, however many such clients there are', async () => {
    const { port, pid } = world.service;
    await world.get(PATHS.communicationCodes);
    const before = resident(pid);
    const clients = await Promise.all(Array.from({ length: 100 }, () => open(port)));
    for (const client of clients) client.pause().write(request(PATHS.communicationCodes));
    await until(
      async () =>
        (await world.service.metric(
          `order_lookup_http_requests_total{operation="${PATHS.communicationCodes}",status="200"}`,
        )) > 100,
    );
    expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
    expect(resident(pid) - before).toBeLessThan(100 * MEBIBYTE); // 100 copies would be 300 MiB
    for (const client of clients) client.destroy();
  });

  it('may be reset in the middle without a word in the log', async () => {
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

describe('more connections than descriptors allow', () => {
  it('are answered 503, and the management port answers on', async () => {
    const service = await RunningService.start(
      { DATABASE_URL: world.database.urlOf('order_lookup_service'), ...world.issuer.environment },
      { descriptors: 512 },
    );
    try {
      await service.ready();
      const idle = await Promise.all(Array.from({ length: 448 }, () => open(service.port)));
      await until(async () => (await service.metric('order_lookup_connections')) >= 448);
      const { responses, closed } = await exchange(service.port, request(PATHS.orderUpdate));
      const [response] = responses;
      expectProblem(response as NonNullable<typeof response>, 'overloaded');
      expect({ closed, later: Number(response?.headers.get('retry-after')) > 0 }).toEqual({
        closed: true,
        later: true,
      });
      expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
      for (const socket of idle) socket.destroy();
      await until(
        async () =>
          (await exchange(service.port, request(PATHS.orderUpdate), { quietMs: 50 })).responses[0]
            ?.status === 200,
      );
    } finally {
      await service.kill();
    }
  });
});
