// Tests the end of the service, as callers see it. shutdown.e2e-spec.ts tests signals and the exit status.
import { EventEmitter, once } from 'node:events';
import * as timers from 'node:timers/promises';
import { expect, it, jest } from '@jest/globals';
import type { LocalService } from '../support/local-service.js';
import { PATHS } from '../support/paths.js';
import { Reader, requestTo } from '../support/reader.js';
import { Traffic } from '../support/traffic.js';
import { until } from '../support/until.js';

/** DRAIN_SECONDS of the replicas. The mocked `setTimeout` recognizes this time, and waits for `drained` instead. */
const DRAIN_SECONDS = 3_600;
/** The same as in src/http/draining.ts. If the values differ, `looks` stays 0, and the last test fails. */
const LOOK_INTERVAL_MS = 20;
/** Stands for a balancer. If a test emits `drained`, the replica ends its wait for DRAIN_SECONDS. */
const balancer = new EventEmitter();
/** The number of times that replicas have looked whether clients have read their answers. */
let looks = 0;
/** The number of replicas that have begun to drain. */
let drains = 0;
jest.unstable_mockModule('node:timers/promises', () => ({
  ...timers,
  setTimeout: (ms: number, ...rest: []): Promise<unknown> => {
    if (ms === LOOK_INTERVAL_MS) looks += 1;
    if (ms !== DRAIN_SECONDS * 1_000) return timers.setTimeout(ms, ...rest);
    drains += 1;
    return once(balancer, 'drained');
  },
}));
const { localWorld } = await import('../support/local-world.js');
const world = localWorld();

interface Ending {
  readonly service: LocalService;
  readonly ended: Promise<void>;
}

/** Begins to end a service as a signal does. Resolves when the service drains, and still answers. */
async function beginToEnd(service: LocalService): Promise<Ending> {
  const before = drains;
  const ended = service.end();
  await until(async () => drains > before);
  return { service, ended };
}

const startReplica = (): Promise<LocalService> =>
  world.startReadyReplica({ DRAIN_SECONDS: String(DRAIN_SECONDS), KEEP_ALIVE_SECONDS: '33' });

async function refusesConnections(url: string): Promise<boolean> {
  try {
    await fetch(url);
    return false;
  } catch {
    return true;
  }
}

async function closePort({ service }: Ending): Promise<void> {
  balancer.emit('drained');
  await until(() => refusesConnections(service.url));
}

it('the header Keep-Alive of an answer names KEEP_ALIVE_SECONDS', async () => {
  const { headers } = await world.get(PATHS.orderUpdate, { service: await startReplica() });
  expect(headers.get('keep-alive')).toBe('timeout=33');
});

it('after a signal a replica is not ready, and answers with Connection: close for DRAIN_SECONDS', async () => {
  const { service, ended } = await beginToEnd(await startReplica());
  const { status: readiness, text } = await service.fetchReadiness();
  const detail = 'The service is shutting down.';
  expect([readiness, JSON.parse(text)]).toEqual([503, expect.objectContaining({ detail })]);
  for (let count = 0; count < 10; count++) {
    const { status, headers } = await world.get(PATHS.orderUpdate, { service });
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
  }
  balancer.emit('drained');
  await ended;
});

it('a replica that ends still serves new changes', async () => {
  const { service, ended } = await beginToEnd(await startReplica());
  await world.database.addValue('Late');
  await until(async () => (await world.get(PATHS.orderUpdate, { service })).text.includes('Late'));
  balancer.emit('drained');
  await ended;
});

it('no request fails while a balancer stops using a replica that ends', async () => {
  const service = await startReplica();
  let target = service;
  const traffic = new Traffic(() => target.url, world.credentials);
  const { ended } = await beginToEnd(service);
  await until(async () => traffic.asked > 100);
  target = world.service;
  await traffic.waitUntilAnswered();
  balancer.emit('drained');
  await ended;
  expect((await traffic.stop()).failures).toEqual([]);
});

it('a request that begins or is completed after the port has closed gets its answer, if its connection was open', async () => {
  const service = await startReplica();
  const request = requestTo(PATHS.orderUpdate, world.headers);
  const [idle, halfSent] = await Promise.all([Reader.to(service.url), Reader.to(service.url)]);
  halfSent.send(request.slice(0, 20));
  await until(async () => (await service.readMetric('order_lookup_connections')) === 2); // the service has accepted both
  const ending = await beginToEnd(service);
  await closePort(ending);
  const replies = await Promise.all([idle.ask(request), halfSent.ask(request.slice(20))]);
  expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  await ending.ended;
});

it('an answer that a client is still reading is not cut when a replica ends', async () => {
  await world.database.query(
    `insert into communication_code
       select 'LONG', n::text, rpad('', 1000, 'x') from generate_series(1, 12000) as n`,
  );
  const service = await startReplica();
  const headers = { ...world.headers, Connection: 'close' };
  const response = await fetch(service.url + PATHS.communicationCodes, { headers });
  const ending = await beginToEnd(service);
  looks = 0;
  balancer.emit('drained');
  await Promise.race([until(async () => looks > 1), ending.ended]); // if the replica ends first, the next line fails
  const { byteLength } = await response.arrayBuffer();
  expect(byteLength).toBe(Number(response.headers.get('content-length')));
  await ending.ended;
});
