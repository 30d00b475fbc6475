import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import type { Configuration } from '../configuration/configuration.js';
import { Connections } from '../database/connections.js';
import { DatabaseClock } from '../database/database-clock.js';
import { createLog } from '../telemetry/log.js';
import { Metrics } from '../telemetry/metrics.js';
import { ChangeWatch } from './change-watch.js';

it('pauses between two attempts while nobody listens at the address of the database', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const DATABASE_URL = `postgres://u:p@127.0.0.1:${port}/d?sslmode=disable`;
  const failedAt: number[] = [];
  await new Promise<void>((resolve) => {
    const watch = new ChangeWatch(
      new Connections({ DATABASE_URL } as Configuration),
      {} as DataSource,
      new DatabaseClock(),
      () => undefined,
      () => {
        if (failedAt.push(performance.now()) === 5) void watch.stop().then(resolve);
      },
      createLog('silent'),
      new Metrics(),
    );
    watch.start();
  });
  const pauses = failedAt.slice(1).map((time, at) => time - (failedAt[at] ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThan(200); // 250 ms, less what a timer may be early
});
