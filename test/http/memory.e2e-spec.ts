// What clients that do not read, or send garbage, cost in memory: in a process of its own, which has nothing else in
// it. The whole attacks, with their figures, are run by `npm run faults -- strangers`.
import { once } from 'node:events';
import { afterEach, expect, it } from '@jest/globals';
import { StalledClients } from '../support/stalled-clients.js';
import { residentMebibytes } from '../support/process-figures.js';
import { PATHS } from '../support/paths.js';
import { exchange } from '../support/exchange.js';
import { requestTo } from '../support/reader.js';
import { processWorld } from '../support/test-world.js';

/** The largest page that is open to everybody: 1.4 MB. */
const PAGE = '/docs/swagger-ui-bundle.js';
const REQUEST = requestTo(PAGE, {});
const MEBIBYTE = 1024 ** 2;

const world = processWorld();
const clients = new StalledClients();
afterEach(() => clients.close());

/** By how many MiB the memory of the service grows from now on. */
function growth(): () => number {
  const { pid } = world.service;
  const before = residentMebibytes(pid);
  return () => residentMebibytes(pid) - before;
}

it('answers that nobody reads cost no copy each', async () => {
  const { port } = world.service;
  await world.get(PAGE);
  const grown = growth();
  const opened = await clients.open({ count: 20, port, bytes: REQUEST.repeat(20) });
  await Promise.all(opened.map((client) => once(client, 'readable'))); // all of its requests have run
  expect(grown()).toBeLessThan(70); // the kernel holds some of the answers: copies of the others would be 300 MiB
});

it('a connection on which 2,000 requests wait takes little memory, and is closed', async () => {
  const grown = growth();
  const { closed } = await exchange(world.service.port, REQUEST.repeat(2_000));
  expect(closed).toBe(true);
  expect(grown()).toBeLessThan(128);
});

it('a connection that sends garbage behind requests whose answers it does not read takes no memory', async () => {
  const { port } = world.service;
  const grown = growth();
  const bytes = `${REQUEST.repeat(10)}garbage\r\n\r\n`;
  const senders = await clients.open({ count: 4, port, bytes });
  const garbage = Buffer.alloc(100 * MEBIBYTE, 'garbage ');
  for (const sender of senders) sender.write(garbage);
  for (let answered = 0; answered < 100; answered++) expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
  expect(grown()).toBeLessThan(64);
});
