// Starts while the database and the issuer are away. `npm run faults -- cold-start` does the same with replicas under traffic.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { type IssuedKey, issueKey } from '../support/keys.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { Proxy } from '../support/proxy.js';
import { RunningService, until } from '../support/service.js';
import { skewedClock } from '../support/skewed-clock.js';
import { entityTagOf } from '../support/traffic.js';
import { SAMPLES } from '../support/world.js';

const PATIENCE = { timeoutMs: 60_000 };
/** When codes begin and end, after the start of the test. */
const MOMENT_SECONDS = 3_600;

let database: TestDatabase;
let issuer: Issuer;
let proxy: Proxy;
let folder: string;
let file: string;
let key: IssuedKey;
let revoked: IssuedKey;
let token: string;
/** The answers of the replica that wrote the file. */
let before: Record<string, unknown>;
const running: RunningService[] = [];

beforeAll(async () => {
  [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
  [key, revoked] = [await issueKey(database), await issueKey(database)];
  proxy = await Proxy.before(Number(new URL(database.url).port));
  folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  file = join(folder, 'last-good');
  token = await issuer.token({ claims: { exp: Math.floor(Date.now() / 1000) + 100_000 } });
  const moment = `to_timestamp(${Date.now() / 1000 + MOMENT_SECONDS})`;
  await database.query(
    `${SAMPLES}; update api_key set revoked_at = now() where id = '${revoked.id}';
     insert into code_list_value (code_list, value, valid_from) values ('orderType', 'After', ${moment});
     insert into communication_code (code_type, code, description, valid_until) values ('SAMPLE', 'Before', 'Sample', ${moment})`,
  );
  const writer = await start();
  await writer.ready();
  expect(await readiness(writer)).toEqual([200, '{"status":"ok"}']);
  await until(
    async () => (await writer.metric('order_lookup_last_good_writes_total')) > 0,
    PATIENCE,
  );
  before = await answers(writer);
  leave();
  await writer.kill();
}, 180_000);
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.kill()));
});
afterAll(async () => {
  proxy?.close();
  await issuer?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

async function start(environment: Record<string, string> = {}): Promise<RunningService> {
  const service = await RunningService.start({
    ...issuer.environment,
    DATABASE_URL: proxy.through(database.urlOf('order_lookup_service')),
    LAST_GOOD_FILE: file,
    ...environment,
  });
  running.push(service);
  return service;
}

async function ask({ url }: RunningService, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, {
    headers: { 'Api-Key': key.key, Authorization: `Bearer ${token}`, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    etag: response.headers.get('etag'),
    text: await response.text(),
  };
}

async function answers(service: RunningService): Promise<Record<string, unknown>> {
  const paths = [...ALL_PATHS, `${PATHS.communicationCodes}?code=S1`];
  const replies = await Promise.all(paths.map((path) => ask(service, path)));
  return Object.fromEntries(
    replies.map(({ status, etag, text }, at) => [paths[at], { status, etag, text }]),
  );
}

const readiness = async ({ managementUrl }: RunningService): Promise<[number, string]> => {
  const response = await fetch(`${managementUrl}/health/ready`);
  return [response.status, await response.text()];
};

function leave(): void {
  proxy.mode = 'refuse';
  proxy.cut();
  issuer.fault = 'down';
}

function come(): void {
  proxy.mode = 'pass';
  issuer.fault = 'none';
}

const ignored = (service: RunningService): Promise<string> =>
  service
    .waitForLog(({ msg }) => msg === 'LAST_GOOD_FILE is ignored')
    .then(({ reason }) => String(reason));

describe('LAST_GOOD_FILE', () => {
  it('holds the moments to come', async () => {
    const service = await start({
      ...skewedClock((MOMENT_SECONDS - 5) * 1000),
      API_KEY_MAX_AGE_SECONDS: '86400',
    });
    await service.ready();
    await until(
      async () => (await ask(service, PATHS.orderUpdate)).text.includes('"After"'),
      PATIENCE,
    );
    const codes = await ask(service, PATHS.communicationCodes);
    expect(codes.text).not.toContain('"Before"');
    expect(codes.etag).toBe(entityTagOf(Buffer.from(codes.text)));
  });

  it('counts within the age limits of a running replica, by a clock that was not set back', async () => {
    const seconds = async (ahead: number, environment: Record<string, string> = {}) => {
      const service = await start({ ...skewedClock(ahead * 1000), ...environment });
      await service.waitForLog(({ msg }) => msg.startsWith('database: away'));
      await service.waitForLog(({ msg }) => msg.includes('its keys from LAST_GOOD_FILE'));
      return { ready: await readiness(service), reply: await ask(service, PATHS.orderUpdate) };
    };
    const [day, old, back] = await Promise.all([
      seconds(23 * 3_600, { API_KEY_MAX_AGE_SECONDS: '86400' }),
      seconds(24 * 3_600 + 1, { API_KEY_MAX_AGE_SECONDS: '86400' }),
      seconds(-3_600),
    ]);
    expect([day.ready[0], day.reply.status]).toEqual([200, 200]);
    for (const { ready, reply } of [old, back]) {
      expectProblem(reply, 'cannot-verify-credentials');
      expect(ready).toEqual([
        503,
        expect.stringMatching(
          /The list of API keys is too old\. No signing keys of the issuer are available\./,
        ),
      ]);
    }
  }, 180_000);

  it('is ignored with one line where it is damaged, missing or of another database; the start waits', async () => {
    const bytes = await readFile(file);
    const damaged = join(folder, 'damaged');
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    await writeFile(damaged, bytes);
    const other = proxy.through(database.urlOf('order_lookup_service')).replace(/$/, '_other');
    const services = await Promise.all([
      start({ LAST_GOOD_FILE: damaged }),
      start({ LAST_GOOD_FILE: join(folder, 'missing') }),
      start({ DATABASE_URL: other }),
    ]);
    expect(await Promise.all(services.map(ignored))).toEqual([
      'it is damaged: its digest does not fit',
      expect.stringContaining('ENOENT'),
      expect.stringMatching(/^it was written for .*, and the configuration names .*_other and /),
    ]);
    for (const service of services) {
      expect((await readiness(service))[0]).toBe(503);
      expectProblem(await ask(service, PATHS.orderUpdate), 'cannot-verify-credentials');
    }
  }, 180_000);

  it('that cannot be written causes one line in the log, and nothing else', async () => {
    come();
    await writeFile(join(folder, 'no-folder'), '');
    const service = await start({ LAST_GOOD_FILE: join(folder, 'no-folder', 'last-good') });
    await service.ready();
    const { reason } = await service.waitForLog(({ msg }) =>
      msg.startsWith('writing LAST_GOOD_FILE: failed'),
    );
    expect(reason).toContain('ENOTDIR');
    expect((await ask(service, PATHS.orderUpdate)).status).toBe(200);
    expect(await service.metric('order_lookup_last_good_writes_total')).toBe(1);
    leave();
  });

  it('is what a replica serves that starts while database and issuer are away, until they answer', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const second = await start();
    await second.ready();
    expect(await answers(second)).toEqual(before);
    expect(await readiness(second)).toEqual([
      200,
      '{"status":"ok","fromFile":["codes","keys","signing-keys"]}',
    ]);
    expect(await second.metric('order_lookup_served_from_file')).toBe(3);
    expect((await ask(second, PATHS.orderUpdate, { 'Api-Key': revoked.key })).status).toBe(401);

    await database.query(
      `insert into code_list_value (code_list, value) values ('orderType', 'Returned')`,
    );
    proxy.mode = 'pass';
    await until(
      async () => (await ask(second, PATHS.orderUpdate)).text.includes('"Returned"'),
      PATIENCE,
    );
    await until(
      async () => (await readiness(second))[1] === '{"status":"ok","fromFile":["signing-keys"]}',
      PATIENCE,
    );
    issuer.fault = 'none';
    await until(async () => (await readiness(second))[1] === '{"status":"ok"}', PATIENCE);
    expect(await second.metric('order_lookup_served_from_file')).toBe(0);
  }, 180_000);
});
