// The limits on connections that this service sets in Node.js. No database is needed.
import 'reflect-metadata';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { until } from '../../test/support/until.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import { createApplication } from './create-application.js';

const MINUTE_MS = 60_000;

let app: Awaited<ReturnType<typeof createApplication>>;
beforeAll(async () => {
  const configuration = readConfiguration({
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    OAUTH_ISSUER: 'http://127.0.0.1:1',
    OAUTH_AUDIENCE: 'orders',
    LOG_LEVEL: 'silent',
    KEEP_ALIVE_SECONDS: '33',
  });
  app = await createApplication(configuration);
  await app.listen(0, '127.0.0.1');
});
afterAll(() => app.close());

const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await until(async () => app.getHttpServer().openConnections.size === 0);
});

function open(): Socket {
  const { port } = app.getHttpServer().address() as AddressInfo;
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  clients.push(client);
  return client;
}

it('the server waits 10 s for headers, 12 s for a request, and KEEP_ALIVE_SECONDS for the next request', () => {
  expect(app.getHttpServer()).toMatchObject({
    headersTimeout: 10_000,
    requestTimeout: 12_000,
    keepAliveTimeout: 33_000,
  });
});

it('closes a connection after a minute without traffic, even if the client has not read its answer', async () => {
  const server = app.getHttpServer();
  const asking = once(server, 'request');
  const accepting = once(server, 'connection') as Promise<[Socket]>;
  const client = open();
  // 20 answers exceed the system's buffers. After more than 32 requests (MAX_WAITING_REQUESTS), the service would close
  // the connection itself
  client.pause().write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
  const [accepted] = await accepting;
  await asking;
  expect(accepted.timeout).toBe(MINUTE_MS);
  expect(accepted.destroyed).toBe(false);
  accepted.emit('timeout'); // Node.js emits this event after a minute
  expect(accepted.destroyed).toBe(true);
});

it('closes and counts a connection beyond the limit of 10,000', async () => {
  const server = app.getHttpServer();
  expect(server.maxConnections).toBe(10_000);
  server.maxConnections = 1;
  const accepting = once(server, 'connection');
  open();
  await accepting;
  const dropping = once(server, 'drop');
  await Promise.all([dropping, once(open(), 'close')]);
  server.maxConnections = 10_000;
  expect(await app.get(Metrics).registry.metrics()).toContain(
    'order_lookup_connections_refused_total{limit="connections"} 1\n',
  );
});
