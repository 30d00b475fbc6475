// Measures the memory that clients cost if they do not read, or send garbage. The service runs in its own process, so
// that only its memory is measured. `npm run faults -- strangers` and `-- callers` run the whole attacks, with figures.
import { afterEach, expect, it } from '@jest/globals';
import { StalledClients } from '../support/stalled-clients.js';
import { readResidentMebibytes } from '../support/process-figures.js';
import { PATHS } from '../support/paths.js';
import { exchange } from '../support/exchange.js';
import { Reader, requestTo } from '../support/reader.js';
import { processWorld } from '../support/test-world.js';
import { until } from '../support/until.js';
import { nextEvent } from '../support/waiting.js';

/** The largest page that is open to everybody, of 1.4 MB. */
const PAGE = '/docs/swagger-ui-bundle.js';
const REQUEST = requestTo(PAGE, {});
const MEBIBYTE = 1024 ** 2;
/** So many small answers come between two callers of the large one. A cache of 1,000 answers would then drop it. */
const FILTERS_BETWEEN_CALLERS = 1_100;

const world = processWorld();
const clients = new StalledClients();
afterEach(() => clients.close());

/** Notes the memory of the service. The returned function returns by how many MiB the memory has grown since then. */
function measureGrowth(): () => number {
  const { pid } = world.service;
  const before = readResidentMebibytes(pid);
  return () => readResidentMebibytes(pid) - before;
}

it('answers that nobody reads share one copy', async () => {
  const { port } = world.service;
  await world.get(PAGE);
  const grown = measureGrowth();
  const opened = await clients.open({ count: 20, port, bytes: REQUEST.repeat(20) });
  // When a client gets the first bytes of an answer, all its requests have run
  await Promise.all(opened.map((client) => nextEvent(client, 'readable')));
  expect(grown()).toBeLessThan(70); // the kernel stores some answers; copies of the others would be 300 MiB
});

it('a connection with 2,000 waiting requests takes little memory, and is closed', async () => {
  const grown = measureGrowth();
  const { closed } = await exchange(world.service.port, REQUEST.repeat(2_000));
  expect(closed).toBe(true);
  expect(grown()).toBeLessThan(128);
});

it('connections that send much garbage after requests, and do not read their answers, take little memory', async () => {
  const { port } = world.service;
  const grown = measureGrowth();
  const bytes = `${REQUEST.repeat(10)}garbage\r\n\r\n`;
  const senders = await clients.open({ count: 4, port, bytes });
  const garbage = Buffer.alloc(100 * MEBIBYTE, 'garbage ');
  for (const sender of senders) sender.write(garbage);
  // During these requests, the service has time to read the garbage
  for (let answered = 0; answered < 100; answered++) expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
  expect(grown()).toBeLessThan(64); // the clients have sent 400 MiB
});

it('callers that do not read share one copy of an answer to a filter, also if others use other filters', async () => {
  const { service, database, headers } = world;
  await database.query(
    `insert into communication_code (code_type, code, description)
     select 'LARGE', 'CODE-' || n, rpad('', 1000, 'x') from generate_series(1, 20000) as n`,
  );
  const path = `${PATHS.communicationCodes}?codeType=LARGE`;
  await until(async () => (await world.get(path)).text.length > 20 * MEBIBYTE);
  const bytes = requestTo(path, headers);
  const grown = measureGrowth();
  for (let opened = 0; opened < 8; opened++) {
    const [client] = await clients.open({ count: 1, port: service.port, bytes });
    if (client) await nextEvent(client, 'readable');
    const others = Array.from({ length: FILTERS_BETWEEN_CALLERS }, (_, index) => {
      return requestTo(`${PATHS.communicationCodes}?code=${opened}-${index}`, headers);
    });
    const reader = await Reader.to(service.url);
    for (const other of others) await reader.ask(other);
    reader.close();
  }
  expect(grown()).toBeLessThan(80); // a copy for each caller would be 160 MiB
});
