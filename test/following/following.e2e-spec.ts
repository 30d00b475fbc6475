import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { fetchReply } from '../support/exchange.js';
import { flipCodes } from '../support/flipping.js';
import { issueKey } from '../support/api-keys.js';
import type { LocalService } from '../support/local-service.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { Proxy } from '../support/proxy.js';
import { Traffic } from '../support/traffic.js';
import { until } from '../support/until.js';

const { orderUpdate: UPDATE } = PATHS;
const world = localWorld();
let proxy: Proxy;
/** Three replicas. The last one reaches the database through the proxy. */
let services: LocalService[];
let behindProxy: LocalService;
/** A session that is not the service's. It holds locks and open transactions. */
let lockHolder: Client;

beforeAll(async () => {
  proxy = await Proxy.before(`${world.database.urlOf('order_lookup_service')}?application_name=behind-proxy`);
  behindProxy = await world.startReadyReplica({ DATABASE_URL: proxy.url });
  services = [world.service, await world.startReadyReplica(), behindProxy];
  lockHolder = await world.database.session();
});
afterEach(async () => {
  proxy.mode = 'pass';
  world.issuer.fault = 'none';
  await lockHolder.query('rollback');
});
afterAll(() => proxy?.close());

const sql = (text: string): Promise<unknown[]> => world.database.query(text);
const insertValue = (value: string): string =>
  `insert into code_list_value (code_list, value) values ('orderType', '${value}')`;
let valueCount = 0;
/** Commits a value that no answer has contained before. */
async function commitValue(): Promise<string> {
  const value = `Value ${++valueCount}`;
  await sql(insertValue(value));
  return value;
}
const serves = async (service: LocalService, value: string): Promise<boolean> =>
  (await world.get(UPDATE, { service })).text.includes(`"${value}"`);
/**
 * Returns whether the replica behind the proxy waits for the lock. Do not check this for all replicas: each one waits
 * for a second and then pauses, so they may never wait at the same time.
 */
const isReadingOfProxyWaiting = async (): Promise<boolean> => {
  const waiting = await sql(`select from pg_locks join pg_stat_activity using (pid)
    where not granted and relation = 'communication_code'::regclass and application_name = 'behind-proxy'`);
  return waiting.length > 0;
};
const statusOf = async (key: string): Promise<number> =>
  (await world.get(UPDATE, { headers: { 'Api-Key': key } })).status;
const readReloads = (result: string): Promise<number> =>
  world.service.readMetric(`order_lookup_snapshot_reloads_total{topic="codes",result="${result}"}`);

/** Does the work while 50 mixed requests a second go to the service. All answers are checked. */
async function underTraffic({ url }: LocalService, work: () => Promise<unknown>): Promise<void> {
  const traffic = new Traffic(() => url, world.credentials, { perSecond: 50 });
  try {
    await work();
    await until(async () => traffic.asked > 50);
  } finally {
    expect((await traffic.stop()).failures).toEqual([]);
  }
}

it('the service waits for locks, so that a table that is being replaced is not served as empty', async () => {
  await lockHolder.query(
    `begin; truncate communication_code; insert into communication_code values ('T', 'loaded', 'D')`,
  );
  const service = await world.startReplica();
  await until(async () => (await world.database.countWaiting('communication_code')) > 0);
  await lockHolder.query('commit');
  const { revision } = await service.waitForLog(({ msg, topic }) => msg === 'snapshot: loaded' && topic === 'codes');
  expect(await sql(`select stamp as revision from revision where topic = 'codes'`)).toEqual([{ revision }]);
  await service.kill();
});

describe('a change of codes', () => {
  it('is served by three replicas, and a replica reads it only once', async () => {
    let reloadsBefore = NaN;
    for (let change = 0; change <= 3; change++) {
      const value = await commitValue();
      await Promise.all(services.map((service) => until(() => serves(service, value))));
      // Counted after the first change, because until then the service may still read a change of an earlier test
      if (change === 0) reloadsBefore = await readReloads('loaded');
    }
    expect(await readReloads('loaded')).toBe(reloadsBefore + 3);
  });

  // Readers of all three replicas compare bytes and entity tags
  it('is served whole or not at all, while a writer changes every code again and again', async () => {
    const found = await flipCodes(world.database, services, world.credentials, { wanted: 500 });
    expect(found.faults).toEqual([]);
  });

  it('is not served before its commit, and never if its transaction fails', async () => {
    await lockHolder.query(`begin; ${insertValue('Open')}`);
    const openedAtMs = performance.now();
    await until(async () => {
      const askedAtMs = performance.now();
      const ageSeconds = await world.service.readMetric('order_lookup_snapshot_age_seconds{topic="codes"}');
      const lastPollAtMs = askedAtMs - ageSeconds * 1_000;
      return lastPollAtMs > openedAtMs; // so a poll came while the change was open
    });
    expect(await serves(world.service, 'Open')).toBe(false);
    await expect(lockHolder.query('select 1 / 0')).rejects.toThrow('division by zero');
    await lockHolder.query('commit'); // the transaction has failed, so this rolls back
    const value = await commitValue();
    await until(() => serves(world.service, value));
    expect(await serves(world.service, 'Open')).toBe(false);
  });

  it('that leaves an area without a property is never served, and the log says why', async () => {
    const value = await commitValue();
    await until(() => serves(world.service, value));
    const former = (await world.get(UPDATE)).text;
    const failuresBefore = await readReloads('failed');
    await sql(
      `create table kept as select * from area_property where area = 'order-update';
       delete from area_property where area = 'order-update'`,
    );
    const line = await world.service.waitForLog(({ reason }) => /has no property/.test(String(reason)));
    expect(line).toMatchObject({ msg: 'database (codes): failed, retrying', level: 'warn' });
    expect(await readReloads('failed')).toBe(failuresBefore + 1);
    expect((await world.get(UPDATE)).text).toBe(former);
    expect(await world.service.fetchReadiness()).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    await sql('insert into area_property select * from kept; drop table kept');
    const next = await commitValue();
    await until(() => serves(world.service, next));
  });
});

// `npm run faults -- sizes` measures how soon a revoked key is refused, also while 100,000 codes are read
it('a revoked key is refused while other sessions lock the tables api_key_use and communication_code', async () => {
  await lockHolder.query('begin; lock table api_key_use in access exclusive mode');
  const { key } = await issueKey(world.database, { client: 'revoked' });
  await until(async () => (await statusOf(key)) === 200);
  const waiting = `select from pg_stat_activity
    where wait_event_type = 'Lock' and query like '%note_key_use%' and datname = current_database()`;
  await until(async () => {
    // PostgreSQL cancels a write that waits too long. The service writes the use of the same key again only after
    // NOTE_INTERVAL_MS, so each check calls with a new key
    const another = await issueKey(world.database);
    await until(async () => (await statusOf(another.key)) === 200);
    return (await sql(waiting)).length > 0;
  });
  await lockHolder.query('lock table communication_code in access exclusive mode');
  const value = await commitValue(); // now the service has to read the codes, and waits for the lock
  await sql(`update api_key set revoked_at = now() where client = 'revoked'`);
  await until(async () => (await statusOf(key)) === 401);
  expect(await serves(world.service, value)).toBe(false);
  // The database answers, although the codes cannot be read
  expect(await world.service.readMetric('order_lookup_database_up')).toBe(1);
});

describe('an outage of the database', () => {
  it('does not keep the service from starting: callers get 503 until database and issuer answer', async () => {
    proxy.mode = 'refuse';
    world.issuer.fault = 'down';
    const service = await world.startReplica({ DATABASE_URL: proxy.url });
    await service.waitForLog(({ msg }) => msg === 'database (codes): failed, callers are refused');
    await service.waitForLog(({ msg }) => msg === 'database (keys): failed, callers are refused');
    expect((await fetchReply(`${service.managementUrl}/health/live`)).status).toBe(200);
    const sentences = [
      String.raw`The codes have not been read from the database yet\.`,
      String.raw`Last attempt: The database .* cannot be used: .*\.`,
      String.raw`The list of API keys has not been read yet\.`,
      String.raw`The signing keys of http:\S+ were not fetched yet\.`,
    ];
    const readiness = await fetchReply(`${service.managementUrl}/health/ready`);
    expect(readiness.headers.get('content-type')).toBe('application/problem+json');
    expect(JSON.parse(readiness.text)).toMatchObject({
      type: '/problems/not-ready',
      status: 503,
      detail: expect.stringMatching(`^${sentences.join(' ')}$`),
    });
    const reply = await world.get(UPDATE, { service });
    expectProblem(reply, 'cannot-verify-credentials');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    proxy.mode = 'pass';
    world.issuer.fault = 'none';
    await service.waitUntilReady();
    expect((await world.get(UPDATE, { service })).status).toBe(200);
    await service.kill();
  });

  it('makes no request fail if the network drops packets during a reading, and later changes are served', () =>
    underTraffic(behindProxy, async () => {
      await lockHolder.query('begin; lock table communication_code in access exclusive mode');
      const value = await commitValue();
      await until(isReadingOfProxyWaiting);
      proxy.mode = 'swallow';
      await lockHolder.query('rollback');
      await until(async () => (await behindProxy.readMetric('order_lookup_database_up')) === 0);
      expect(await behindProxy.fetchReadiness()).toMatchObject({ status: 200 });
      await until(() => serves(world.service, value)); // meanwhile the replica behind the proxy gets no answers
      proxy.mode = 'pass';
      await until(() => serves(behindProxy, value));
    }));

  it('that repeatedly ends all sessions of the service leads to new sessions, at most nine for three replicas', () =>
    underTraffic(world.service, async () => {
      const fromServiceSessions = `from pg_stat_activity
        where application_name in ('order-lookup-services', 'behind-proxy') and datname = current_database()`;
      for (let round = 0; round < 3; round++) {
        const ended = await sql(`select pid, pg_terminate_backend(pid) ${fromServiceSessions}`);
        const pids = ended.map((row) => (row as { pid: number }).pid);
        const value = await commitValue();
        await until(() => serves(world.service, value));
        const remaining = `select ${fromServiceSessions} and pid = any ('{${pids.join()}}')`;
        await until(async () => (await sql(remaining)).length === 0);
        const sessions = await sql(`select ${fromServiceSessions}`);
        expect(sessions.length).toBeLessThanOrEqual(3 * services.length); // SERVICE_USE of data-source.ts allows three
      }
    }));
});
