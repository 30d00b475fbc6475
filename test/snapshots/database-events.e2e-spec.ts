// Whatever happened to the database, a few seconds after the last commit the service answers exactly what a query says.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { answersByQuery } from '../support/answers-by-query.js';
import { issueKey } from '../support/keys.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { run } from '../support/program.js';
import { RunningService, until } from '../support/service.js';
import { World } from '../support/world.js';

const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
let world: World;
let server: Client;
/** What a test has to undo, whether it passes or not. */
const ends: (() => Promise<unknown>)[] = [];

const sql = (text: string): Promise<unknown> => world.database.query(text);
const setCode = (code: string, description: string): string =>
  `insert into communication_code values ('T', '${code}', '${description}') on conflict (code_type, code) do update set description = excluded.description`;
const TRIGGERS_OFF = ['communication_code', 'code_list_value']
  .map((table) => `alter table ${table} disable trigger all`)
  .join('; ');
const TRIGGERS_ON = `do $$ begin execute (select coalesce(string_agg(format('alter table %I enable always trigger %I', table_name, trigger_name), ';'), 'select') from trigger_fault); end $$`;
const doctor = (): Promise<{ stdout: string }> =>
  run('doctor.js', [], {
    DATABASE_URL: world.database.urlOf('order_lookup_service'),
    ...world.issuer.environment,
  });

/** Ends the sessions of the service. */
const endSessions = (): Promise<unknown> =>
  sql(
    `select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'order-lookup-services' and datname = current_database()`,
  );

/** Waits until the service answers what a query says. */
async function expectServed(): Promise<void> {
  const served = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(ALL_PATHS.map(async (path) => [path, (await world.get(path)).text])),
    ) as Record<string, string>;
  const isServed = async (): Promise<boolean> =>
    JSON.stringify(await served()) === JSON.stringify(await answersByQuery(world.database));
  await until(isServed).catch(() => undefined); // the comparison says more
  expect(await served()).toEqual(await answersByQuery(world.database));
}

const expectStatus = (key: string, status: number): Promise<void> =>
  until(async () => (await world.get(UPDATE, { headers: { 'Api-Key': key } })).status === status);

beforeAll(async () => {
  world = await World.create();
  server = new Client(Object.assign(new URL(world.database.url), { pathname: '/postgres' }).href);
  await server.connect();
});
let number = 0;
beforeEach(async () => {
  await sql(
    `begin; truncate communication_code; insert into communication_code select 'T', 'C' || n, 'Code ${++number}-' || n from generate_series(1, 500) as n; commit`,
  );
  await expectServed();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(async () => {
  await server?.end();
  await world?.close();
});

describe('a copy takes the place of the database', () => {
  const name = (): string => world.database.name;
  const endAllSessions = (): Promise<unknown> =>
    server.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name()}'`,
    );

  it('that lost the last commits, and gets as many others: the lost content is not served', async () => {
    const keys = [await issueKey(world.database), await issueKey(world.database)] as const;
    await server.query(`alter database ${name()} allow_connections false`);
    await endAllSessions();
    await server.query(`create database ${name()}_copy template ${name()}`);
    await server.query(`alter database ${name()} allow_connections true`);
    await sql(setCode('C1', 'Lost'));
    await sql(setCode('lost', 'Lost'));
    await sql(`update api_key set revoked_at = now() where id = '${keys[0].id}'`);
    await expectServed();
    await expectStatus(keys[0].key, 401);

    await server.query(`alter database ${name()} allow_connections false`);
    await endAllSessions();
    await server.query(`alter database ${name()} rename to ${name()}_lost`);
    await server.query(`alter database ${name()}_copy rename to ${name()}`);
    // Only as many other changes as were lost, so that every count is what it was
    await sql(setCode('C2', 'Found'));
    await sql(setCode('found', 'Found'));
    await sql(`update api_key set revoked_at = now() where id = '${keys[1].id}'`);
    await expectServed();
    await expectStatus(keys[0].key, 200);
    await expectStatus(keys[1].key, 401);
    await server.query(`drop database ${name()}_lost`);
  });
});

describe('an older dump is restored into the live database', () => {
  const TABLES = ['communication_code', 'code_list_value', 'revision', 'history'];
  const restore = TABLES.map(
    (table) =>
      `delete from ${table}; insert into ${table} overriding system value select * from older_${table}`,
  ).join('; ');

  it.each([
    ['with triggers', restore],
    ['without', `${TRIGGERS_OFF}; ${restore}; ${TRIGGERS_ON}`],
    [
      'as pg_restore --disable-triggers does it',
      `set session_replication_role = replica; ${restore}; reset session_replication_role`,
    ],
  ])('%s: it is served, and so is the next change', async (_, how) => {
    await sql(
      TABLES.map((table) => `create table older_${table} as select * from ${table}`).join('; '),
    );
    ends.push(() => sql(TABLES.map((table) => `drop table older_${table}`).join('; ')));
    await sql(setCode('C1', 'Newer'));
    await sql(`insert into code_list_value (code_list, value) values ('orderType', 'Newer')`);
    await expectServed();
    await sql(`begin; ${how}; commit`);
    await expectServed();
    await sql(setCode('C2', 'The next change'));
    await expectServed();
  });
});

describe('triggers that are switched off', () => {
  /** By the metric of a service that starts now: it looks then, and every half minute. */
  const faults = async (): Promise<number> => {
    const other = await RunningService.start({
      DATABASE_URL: world.database.urlOf('order_lookup_service'),
      ...world.issuer.environment,
    });
    await other.waitForLog(({ msg }) => msg === 'database: changes are not recorded');
    const count = await other.metric('order_lookup_trigger_faults');
    await other.kill();
    return count;
  };

  it('stay a fault for the metric, the log and the doctor after the next change and the next migration', async () => {
    ends.push(() => sql(TRIGGERS_ON));
    expect((await doctor()).stdout).toMatch(/^ok +triggers /m);
    await sql('alter table communication_code disable trigger record_update');
    await sql(`update communication_code set description = 'Unseen' where code = 'C3'`);
    for (const change of [
      'select',
      setCode('new', 'Seen'),
      `insert into pgmigrations (name, run_on) values ('0099_next', now()); delete from pgmigrations where name = '0099_next'`,
    ]) {
      await sql(change);
      expect((await doctor()).stdout).toMatch(/^(warning|fault) +triggers .*communication_code/m);
    }
    expect(await faults()).toBe(1);
    await expectServed(); // with the change that has a stamp, the one without came too
  });
});

describe('the table is rewritten or gets a column', () => {
  it.each([
    ['VACUUM FULL', 'vacuum full communication_code'],
    ['a column', `alter table communication_code add column note text default 'N'`],
    ['a column less', 'alter table communication_code drop column note'],
    ['an emptied history', 'truncate history'],
    [
      'an emptied table of stamps, and a change',
      `truncate revision; ${setCode('C9', 'Stamped anew')}; update api_key set client = client || '.'`,
    ],
    [
      'a TRUNCATE and a load in one transaction',
      `begin; truncate communication_code; ${setCode('only', 'One')}; commit`,
    ],
  ])('%s: all the same', async (_, event) => {
    await sql(event);
    await expectServed();
    await sql(setCode('C1', 'After it'));
    await expectServed();
    expect(await world.service.metric('order_lookup_database_up')).toBe(1);
  });
});

describe('the role has another', () => {
  const set = async (setting: string): Promise<void> => {
    await sql(`alter role order_lookup_service in database ${world.database.name} ${setting}`);
    await endSessions();
  };

  it.each([
    ['DateStyle', 'German'],
    ['TimeZone', 'Asia/Kathmandu'],
    ['search_path', 'pg_temp'],
    ['bytea_output', 'escape'],
    ['default_transaction_isolation', 'serializable'],
    ['extra_float_digits', '-15'],
    ['IntervalStyle', 'sql_standard'],
    ['standard_conforming_strings', 'off'],
    ['row_security', 'off'],
    ['default_transaction_deferrable', 'on'],
    ['idle_session_timeout', '1000'],
  ])('%s: all the same', async (setting, value) => {
    const [expiring, expired] = [
      await issueKey(world.database, { expiresAt: '2090-01-31T00:00:00Z' }),
      await issueKey(world.database, { revokedAt: new Date().toISOString() }),
    ];
    ends.push(() => set('reset all'));
    await set(`set ${setting} = '${value}'`);
    await sql(
      `begin; insert into communication_code values ('T', 's', '\\ "Ä"', now() - interval '1 day', now() + interval '1 day'), ('T', 'ended', 'E', null, now() - interval '1 s');
       ${setCode('C1', setting)}; commit`,
    );
    await expectServed();
    await expectStatus(expiring.key, 200);
    await expectStatus(expired.key, 401);
    await sql(
      `insert into communication_code values ('T', 'soon', 'S', now() + interval '300 ms')`,
    );
    await until(async () => (await world.get(`${CODES}?code=soon`)).text.includes('"S"'));
    await expectServed();
  });
});
