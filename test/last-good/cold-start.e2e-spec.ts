// Starts while the database and the issuer are away. How long they take is measured by `npm run faults -- sizes`.
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { readLastGood } from '../../src/last-good/last-good-file.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { Proxy } from '../support/proxy.js';
import { type RunningService, until } from '../support/service.js';
import { fastClock, skewedClock } from '../support/clocks.js';
import { entityTagOf } from '../support/traffic.js';
import { testFolder } from '../support/test-folder.js';
import { testWorld } from '../support/test-world.js';

const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
/** When codes begin and end, after the start of the test. */
const MOMENT_SECONDS = 3_600;
const A_DAY = { API_KEY_MAX_AGE_SECONDS: '86400' };

const world = testWorld();
let proxy: Proxy;
const folder = testFolder();
const file = join(folder, 'last-good');
const LAST_GOOD_FOLDER = join(folder, 'issuers');
let revoked: IssuedKey;
let token: string;
/** The answers of the replica that wrote the file. */
let before: unknown;
const running: RunningService[] = [];

async function start(environment: Record<string, string> = {}): Promise<RunningService> {
  const service = await world.start({
    DATABASE_URL: proxy.url,
    LAST_GOOD_FILE: file,
    LAST_GOOD_FOLDER,
    ...environment,
  });
  running.push(service);
  return service;
}
const ask = (service: RunningService, path = UPDATE as string, headers = {}) =>
  world.get(path, { service, headers: { Authorization: `Bearer ${token}`, ...headers } });
const answers = async (service: RunningService): Promise<unknown> =>
  Promise.all(
    [...ALL_PATHS, `${CODES}?code=S1`].map(async (path) => {
      const { status, headers, text } = await ask(service, path);
      return { path, status, etag: headers.get('etag'), text };
    }),
  );
function leave(): void {
  proxy.mode = 'refuse';
  proxy.cut();
  world.issuer.fault = 'down';
}

beforeAll(async () => {
  revoked = await issueKey(world.database, { revokedAt: new Date().toISOString() });
  proxy = await Proxy.before(world.database.urlOf('order_lookup_service'));
  token = await world.issuer.token({ claims: { exp: Math.floor(Date.now() / 1000) + 100_000 } });
  const moment = `to_timestamp(${Date.now() / 1000 + MOMENT_SECONDS})`;
  await world.database.query(
    `insert into code_list_value (code_list, value, valid_from) values ('orderType', 'After', ${moment});
     insert into communication_code (code_type, code, description, valid_until) values ('SAMPLE', 'Before', 'Sample', ${moment})`,
  );
  const writer = await start();
  await writer.ready();
  expect(await writer.readiness()).toEqual({ status: 200, text: '{"status":"ok"}' });
  await until(async () => (await writer.metric('order_lookup_last_good_writes_total')) > 0);
  before = await answers(writer);
  leave();
  await writer.kill();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.kill()));
});
afterAll(() => proxy?.close());

it('LAST_GOOD_FILE whose content the database still holds is no unrecorded change', async () => {
  const service = await start();
  await service.waitForLog(({ msg }) => msg === 'LAST_GOOD_FILE is served');
  proxy.mode = 'pass';
  await service.waitForLog(({ msg, topic }) => msg === 'snapshot: loaded' && topic === 'codes');
  expect(await service.metric('order_lookup_unrecorded_changes_total')).toBe(0);
  leave();
});

it.each([
  ['the same stamps', false],
  ['another stamp for both topics', true],
])(
  'LAST_GOOD_FILE counts where the database names %s while the tables are locked: not %s',
  async (_, isChanged) => {
    proxy.mode = 'pass';
    if (isChanged) {
      await world.database.addValue('Changed');
      await world.database.query(`update api_key set client = client || '.'`);
    }
    const holder = await world.database.session();
    await holder.query('begin; lock table api_key, communication_code in access exclusive mode');
    const service = await start();
    const message = isChanged
      ? 'LAST_GOOD_FOLDER: signing keys are restored'
      : 'LAST_GOOD_FILE is served';
    await service.waitForLog(({ msg }) => msg === message);
    expect((await ask(service)).status).toBe(isChanged ? 503 : 200);
    await service.kill();
    await holder.query('rollback');
    leave();
  },
);

it.each<[string, number, Record<string, string>, boolean]>([
  ['counts for almost a day, with the moments to come', 23 * 3_600, A_DAY, true],
  ['is too old after a day', 24 * 3_600 + 1, A_DAY, false],
  ['is not used by a clock that was set back', -3_600, {}, false],
])('LAST_GOOD_FILE %s', async (_, aheadSeconds, environment, counts) => {
  const service = await start({ ...skewedClock(aheadSeconds * 1000), ...environment });
  await service.waitForLog(({ msg }) => msg === 'LAST_GOOD_FILE is served');
  const { status, text: said } = await service.readiness();
  const reply = await ask(service);
  expect([status, reply.status]).toEqual(counts ? [200, 200] : [503, 503]);
  if (counts) {
    expect(reply.text).toContain('"After"');
    const { text, headers } = await ask(service, CODES);
    expect(text).not.toContain('"Before"');
    return expect(headers.get('etag')).toBe(entityTagOf(Buffer.from(text)));
  }
  expectProblem(reply, 'cannot-verify-credentials');
  expect(said).toMatch(
    /The list of API keys is too old\. No signing keys of the issuer are available\./,
  );
});

it('LAST_GOOD_FILE is ignored with one line where it is of another database; the start waits', async () => {
  const service = await start({ DATABASE_URL: `${proxy.url}_other` });
  const isLine = ({ msg }: { msg: string }): boolean => msg === 'LAST_GOOD_FILE is ignored';
  const { reason } = await service.waitForLog(isLine);
  expect(reason).toMatch(/^it was written for .*, not for .*_other$/);
  expect(await service.readiness()).toMatchObject({ status: 503 });
  expectProblem(await ask(service), 'cannot-verify-credentials');
  expect(service.lines.filter(isLine)).toHaveLength(1);
});

it('LAST_GOOD_FILE is what a replica serves that starts while database and issuer are away, until they answer', async () => {
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const service = await start();
  await service.ready();
  expect(await answers(service)).toEqual(before);
  const becomes = (more: string): Promise<void> =>
    until(async () => {
      const { status, text } = await service.readiness();
      return status === 200 && text === `{"status":"ok"${more}}`;
    });
  await becomes(',"fromFile":["codes","keys","signing-keys"]');
  expect(await service.metric('order_lookup_served_from_file')).toBe(3);
  expect((await ask(service, UPDATE, { 'Api-Key': revoked.key })).status).toBe(401);

  await world.database.addValue('Returned');
  proxy.mode = 'pass';
  await until(async () => (await ask(service)).text.includes('"Returned"'));
  await becomes(',"fromFile":["signing-keys"]');
  world.issuer.fault = 'none';
  await becomes('');
  expect(await service.metric('order_lookup_served_from_file')).toBe(0);
});

it('LAST_GOOD_FILE says when the database last confirmed the keys, not when it was written', async () => {
  [proxy.mode, world.issuer.fault] = ['pass', 'none'];
  const path = join(folder, 'kept');
  // A minute between two writes is a second
  const service = await start({ ...fastClock(60), LAST_GOOD_FILE: path });
  const writes = () => service.metric('order_lookup_last_good_writes_total');
  const confirmedAt = async () => (await readLastGood(path)).confirmedAt;
  await service.ready();
  await until(async () => (await writes()) > 0);
  leave();
  await until(async () => (await service.metric('order_lookup_database_up')) === 0);
  const written = async (): Promise<number> => {
    const earlier = await writes();
    await until(async () => (await writes()) > earlier);
    return confirmedAt();
  };
  const first = await written();
  expect(Math.abs((await written()) - first)).toBeLessThan(60_000); // the writes are further apart
  [proxy.mode, world.issuer.fault] = ['pass', 'none'];
});

it('LAST_GOOD_FILE that cannot be written causes one line in the log, and nothing else', async () => {
  await writeFile(join(folder, 'no-folder'), '');
  const service = await start({ LAST_GOOD_FILE: join(folder, 'no-folder', 'last-good') });
  await service.ready();
  const { reason } = await service.waitForLog(({ msg }) =>
    msg.startsWith('writing LAST_GOOD_FILE: failed'),
  );
  expect(reason).toContain('ENOTDIR');
  expect((await ask(service)).status).toBe(200);
  expect(await service.metric('order_lookup_last_good_writes_total')).toBeGreaterThan(0);
});
