// What no stamp tells is found by reading everything every ten minutes: triggers were off while the tables changed.
import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DataSource, type EntityManager } from 'typeorm';
import { poolOptions } from '../../src/database/connections.js';
import { DatabaseClock } from '../../src/database/database-clock.js';
import { FollowedSnapshot } from '../../src/snapshots/followed-snapshot.js';
import { RefusedSnapshot } from '../../src/snapshots/refused-snapshot.js';
import { Availability } from '../../src/telemetry/availability.js';
import { type Log, createLog } from '../../src/telemetry/log.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import type { Tracing } from '../../src/telemetry/tracing.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { until } from '../support/service.js';

const MINUTE = 60_000;
let database: TestDatabase;
let source: DataSource;
let aheadMs = 0;
const reads: string[] = [];
const metrics = new Metrics();
let followed: FollowedSnapshot<string>;

/** All codes as one text. One that is called refused cannot be served. */
async function read(manager: EntityManager): Promise<string> {
  const rows = await manager.query<{ code: string }[]>(
    'select code from public.communication_code order by code',
  );
  const text = rows.map(({ code }) => code).join();
  reads.push(text);
  if (text.includes('refused')) throw new RefusedSnapshot('a code is refused');
  return text;
}

const counted = async (): Promise<number> =>
  (await metrics.unrecordedChanges.get()).values.reduce((sum, { value }) => sum + value, 0);
const add = (code: string): Promise<unknown> =>
  database.query(`insert into communication_code values ('T', '${code}', 'D')`);
/** Waits until the database was looked at a few times. */
const looks = (): Promise<void> => pause(1_000);

beforeAll(async () => {
  database = await createDatabase();
  source = new DataSource(poolOptions({ DATABASE_URL: database.urlOf('order_lookup_service') }));
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  const tracing = { traced: (_name: string, _attributes: object, work: () => unknown) => work() };
  const log: Log = createLog('silent');
  followed = new FollowedSnapshot<string>(
    'codes',
    {
      lock: (manager) => manager.query('lock table public.communication_code in access share mode'),
      read,
      isEqual: (one, other) => one === other,
    },
    {
      dataSource: source,
      clock: new DatabaseClock(),
      availability: new Availability(),
      metrics,
      tracing: tracing as unknown as Tracing,
      log,
    },
  );
  followed.restore('restored', 100);
});
afterEach(() => void reads.splice(0));
afterAll(async () => {
  followed.stop();
  jest.restoreAllMocks();
  await source?.destroy();
  await database?.drop();
});

describe('a followed snapshot', () => {
  it('serves a restored value, with its age, until it has read', async () => {
    expect([followed.current, followed.isRestored]).toEqual(['restored', true]);
    expect(followed.age).toBeGreaterThanOrEqual(100);
    void followed.follow();
    await until(async () => followed.current === '');
    expect(followed.isRestored).toBe(false);
    expect(followed.age).toBeLessThan(100);
    followed.restore('too late', 0);
    expect(followed.current).toBe('');
    expect(await counted()).toBe(0); // what the file held differed, and is no change
  });

  it('reads once for each change, and nothing without one', async () => {
    await add('A');
    await until(async () => followed.current === 'A');
    await looks();
    expect(reads).toEqual(['A']);
  });

  it('reads what it refused once, says why, and serves the former value until something changes', async () => {
    await add('refused');
    await until(async () => followed.refusal === 'a code is refused');
    await looks();
    expect(reads).toEqual(['A,refused']);
    expect(followed.current).toBe('A');
    await database.query(`delete from communication_code where code = 'refused'`);
    await until(async () => followed.refusal === undefined);
    expect(followed.current).toBe('A');
  });

  it('reads everything within ten minutes: a change without a stamp is served and counted, nothing else is', async () => {
    aheadMs += 10 * MINUTE;
    await until(async () => reads.length === 1);
    await looks();
    expect([await counted(), reads.length]).toEqual([0, 1]);
    await database.query(
      `begin; alter table communication_code disable trigger user; insert into communication_code values ('T', 'B', 'D'); alter table communication_code enable always trigger record_insert; commit`,
    );
    aheadMs += 7 * MINUTE;
    await looks();
    expect(followed.current).toBe('A');
    aheadMs += 3 * MINUTE;
    await until(async () => followed.current === 'A,B');
    await until(async () => (await counted()) === 1);
  });
});
