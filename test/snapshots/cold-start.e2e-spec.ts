// Starts while the database is away. How long they take is measured by `npm run faults -- sizes`.
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { setClockAhead, useMachineClock } from '../support/local-clock.js';
import type { LocalService } from '../support/local-service.js';
import { localWorld } from '../support/local-world.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { Proxy } from '../support/proxy.js';
import type { LogLine } from '../support/service-log.js';
import { testFolder } from '../support/test-folder.js';
import { entityTagOf } from '../support/traffic.js';
import { until } from '../support/until.js';

const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
const HOUR_SECONDS = 3_600;
/** When codes begin and end, after the start of the test. */
const MOMENT_SECONDS = HOUR_SECONDS;
const A_DAY = { API_KEY_MAX_AGE_SECONDS: String(24 * HOUR_SECONDS) };

const world = localWorld({ replicas: 0 });
let proxy: Proxy;
/** A session of another client, which may hold locks. */
let holder: Client;
const folder = testFolder();
let revoked: IssuedKey;
/** Valid for longer than the clocks of the tests are ahead. */
let token: string;
/** The answers of the replica that wrote the files. */
let before: unknown;
const running: LocalService[] = [];

async function start(environment: Record<string, string> = {}): Promise<LocalService> {
  const service = await world.start({
    DATABASE_URL: proxy.url,
    LAST_GOOD_FOLDER: folder,
    ...environment,
  });
  running.push(service);
  return service;
}

const ask = (service: LocalService, path: string = UPDATE, headers = {}) =>
  world.get(path, { service, headers: { Authorization: `Bearer ${token}`, ...headers } });

const answers = (service: LocalService): Promise<unknown> =>
  Promise.all(
    [...ALL_PATHS, `${CODES}?code=S1`].map(async (path) => {
      const { status, headers, text } = await ask(service, path);
      return { path, status, etag: headers.get('etag'), text };
    }),
  );

const isServed = ({ msg }: LogLine): boolean => msg === 'LAST_GOOD_FOLDER is served';

/** Resolves when a file of each topic is served. */
const bothAreServed = (service: LocalService): Promise<unknown> =>
  Promise.all(
    ['codes', 'keys'].map((topic) => service.waitForLog((line) => isServed(line) && line['topic'] === topic)),
  );

/** Waits until the service is ready and says just this beside. */
const becomesReady = (service: LocalService, remarks = ''): Promise<void> =>
  until(async () => {
    const { status, text } = await service.readiness();
    return status === 200 && text === `{"status":"ok"${remarks}}`;
  });

/** The content that a file holds. */
const contentIn = (topic: string): { stamp: string } =>
  JSON.parse(readFileSync(join(folder, `${topic}.json`), 'utf8')).content;

/** Waits until the files of both topics hold what the database holds, and the issuer has a file. */
const allAreWritten = (): Promise<void> =>
  until(async () => {
    const stamps = await world.database.query<{ topic: string; stamp: string }>('select topic, stamp from revision');
    const names = await readdir(folder);
    if (!names.some((name) => name.startsWith('issuer'))) return false;
    return stamps.every(({ topic, stamp }) => contentIn(topic).stamp === stamp);
  });

function takeDatabaseAway(): void {
  proxy.mode = 'refuse';
  proxy.cut();
}

beforeAll(async () => {
  revoked = await issueKey(world.database, { revokedAt: new Date().toISOString() });
  holder = await world.database.session();
  proxy = await Proxy.before(world.database.urlOf('order_lookup_service'));
  const exp = Math.floor(Date.now() / 1000) + 48 * HOUR_SECONDS;
  token = await world.issuer.token({ claims: { exp } });
  const moment = `to_timestamp(${Date.now() / 1000 + MOMENT_SECONDS})`;
  await world.database.query(
    `insert into code_list_value (code_list, value, valid_from)
       values ('orderType', 'After', ${moment});
     insert into communication_code (code_type, code, description, valid_until)
       values ('SAMPLE', 'Before', 'Sample', ${moment})`,
  );
  const writer = await start();
  await becomesReady(writer);
  await allAreWritten();
  before = await answers(writer);
  await writer.kill();
});
beforeEach(takeDatabaseAway);
afterEach(async () => {
  useMachineClock();
  world.issuer.fault = 'none';
  await holder.query('rollback');
  await Promise.all(running.splice(0).map((service) => service.kill()));
});
afterAll(() => proxy?.close());

it('a start while database and issuer are away serves the files, until the database answers', async () => {
  world.issuer.fault = 'down';
  const service = await start();
  await becomesReady(service, ',"fromFile":["codes","keys","signing-keys"]');
  expect(await answers(service)).toEqual(before);
  expect(await service.metric('order_lookup_served_from_file')).toBe(3);
  expect((await ask(service, UPDATE, { 'Api-Key': revoked.key })).status).toBe(401);

  await world.database.addValue('Returned');
  proxy.mode = 'pass';
  await until(async () => (await ask(service)).text.includes('"Returned"'));
  await becomesReady(service, ',"fromFile":["signing-keys"]');
  expect(await service.metric('order_lookup_served_from_file')).toBe(1);
});

it('a file whose stamp the database names counts while its tables are locked, and is confirmed', async () => {
  proxy.mode = 'pass';
  const writer = await start();
  await becomesReady(writer);
  await allAreWritten();
  await writer.kill();
  await holder.query('begin; lock table api_key, communication_code in access exclusive mode');
  const service = await start();
  await bothAreServed(service);
  expect((await ask(service)).status).toBe(200);
  await becomesReady(service);
});

it('a file counts no more if the database names another stamp, however long the reading takes', async () => {
  proxy.mode = 'pass';
  await world.database.addValue('Changed');
  await world.database.query(`update api_key set client = client || '.'`);
  await holder.query('begin; lock table api_key, communication_code in access exclusive mode');
  const service = await start();
  await service.waitForLog(({ msg }) => msg === 'database (codes): failed, callers are refused');
  await service.waitForLog(({ msg }) => msg === 'database (keys): failed, callers are refused');
  expect((await ask(service)).status).toBe(503);
  expect(service.lines.filter(isServed)).toEqual([]);
  await holder.query('rollback');
  await becomesReady(service);
});

it('moments count in a file, and it may be used for almost as long as a running replica uses its keys', async () => {
  setClockAhead((24 * HOUR_SECONDS - 600) * 1000);
  const service = await start(A_DAY);
  await bothAreServed(service);
  const reply = await ask(service);
  expect(reply.status).toBe(200);
  expect(reply.text).toContain('"After"');
  const { text, headers } = await ask(service, CODES);
  expect(text).not.toContain('"Before"');
  expect(headers.get('etag')).toBe(entityTagOf(Buffer.from(text)));
});

it('a list of keys that is too old is not used', async () => {
  setClockAhead((24 * HOUR_SECONDS + 1) * 1000);
  const service = await start(A_DAY);
  await service.waitForLog((line) => isServed(line) && line['topic'] === 'codes');
  await service.waitForLog(({ msg }) => msg === 'LAST_GOOD_FOLDER: too old to be used');
  const { status, text } = await service.readiness();
  expect(status).toBe(503);
  expect(text).toContain('The list of API keys is too old.');
  expectProblem(await ask(service), 'cannot-verify-credentials');
});
