// Whatever happened to the database, a few seconds after the last commit the service answers exactly what a query says.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { answersByQuery } from '../support/answers-by-query.js';
import { issueKey } from '../support/keys.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { run } from '../support/program.js';
import { until } from '../support/service.js';
import { World } from '../support/world.js';

const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
const PATIENCE = { timeoutMs: 60_000 };
let world: World;
const clients: Client[] = [];

async function connect(database?: string): Promise<Client> {
  const url = new URL(world.database.url);
  const client = new Client(
    Object.assign(url, { pathname: `/${database ?? world.database.name}` }).href,
  );
  clients.push(client);
  await client.connect();
  return client;
}

const sql = (text: string): Promise<unknown> => world.database.query(text);
const setCode = (code: string, description: string): string =>
  `insert into communication_code values ('T', '${code}', '${description}') on conflict (code_type, code) do update set description = excluded.description`;
const gaps = (): Promise<number> => world.service.metric('order_lookup_record_gaps');

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
  await until(isServed, PATIENCE).catch(() => undefined); // the comparison says more
  expect(await served()).toEqual(await answersByQuery(world.database));
}

const expectStatus = (key: string, status: number): Promise<void> =>
  until(
    async () => (await world.get(UPDATE, { headers: { 'Api-Key': key } })).status === status,
    PATIENCE,
  );

beforeAll(async () => {
  world = await World.create();
});
let number = 0;
/** What a test has to undo, whether it passes or not. */
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
beforeEach(async () => {
  await sql(
    `begin; truncate communication_code; insert into communication_code select 'T', 'C' || n, 'Code ${++number}-' || n from generate_series(1, 500) as n;
     select raise_every_topic(); commit`,
  );
  await expectServed();
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await world?.close();
});

describe('a copy takes the place of the database', () => {
  let server: Client;
  const name = (): string => world.database.name;
  const endAllSessions = (): Promise<unknown> =>
    server.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name()}'`,
    );
  beforeAll(async () => {
    server = await connect('postgres');
  });

  it('that lost the last commits, and gets as many others: the lost content is not served', async () => {
    const keys = [await issueKey(world.database), await issueKey(world.database)] as const;
    for (let life = 0; life < 2; life++) {
      await server.query(`alter database ${name()} allow_connections false`);
      await endAllSessions();
      await server.query(`create database ${name()}_copy template ${name()}`);
      await server.query(`alter database ${name()} allow_connections true`);
      await sql(setCode('C1', `Lost ${life}`));
      await sql(setCode(`lost${life}`, 'Lost'));
      await sql(`update api_key set revoked_at = now() where id = '${keys[0].id}'`);
      await expectServed();
      await expectStatus(keys[0].key, 401);

      await server.query(`alter database ${name()} allow_connections false`);
      await endAllSessions();
      await server.query(`alter database ${name()} rename to ${name()}_lost${life}`);
      await server.query(`alter database ${name()}_copy rename to ${name()}`);
      // Only as many other changes as were lost, so that every count is what it was
      await sql(setCode('C2', `Found ${life}`));
      await sql(setCode(`found${life}`, 'Found'));
      await sql(`update api_key set revoked_at = now() where id = '${keys[1].id}'`);
      await expectServed();
      await expectStatus(keys[0].key, 200);
      await expectStatus(keys[1].key, 401);
      await sql('update api_key set revoked_at = null');
      await server.query(`drop database ${name()}_lost${life}`);
    }
  });
});

describe('the record of changes has a gap', () => {
  const tables = ['communication_code', 'code_list_value', 'api_key', 'revision', 'changed_code'];
  const triggers = (how: string): string =>
    tables.map((table) => `alter table ${table} ${how} trigger all`).join('; ');
  const load = (how: string): string =>
    `begin; ${triggers('disable')}; ${how}; ${triggers('enable')}; commit`;
  beforeAll(() =>
    sql(
      `create table older_code as select * from communication_code; create table older_revision as select * from revision;
       create table older_change as select * from changed_code`,
    ),
  );

  it.each([
    [
      'triggers were off while codes were loaded',
      load(`insert into communication_code select 'Bulk', n::text, 'B' from generate_series(1, 10) as n;
        insert into code_list_value values ('orderType', 'Bulk', 1000)`),
    ],
    [
      'an older dump was loaded without triggers',
      load(`delete from communication_code; delete from revision; delete from changed_code; insert into communication_code select * from older_code;
        insert into revision select * from older_revision; insert into changed_code select * from older_change`),
    ],
    [
      'a column was rewritten',
      'alter table communication_code alter column description type text using upper(description)',
    ],
    ['the history was emptied', `${setCode('C1', 'Unknown')}; truncate history`],
    [
      'what changed was deleted',
      `${setCode('C1', 'Unknown')}; delete from changed_code; delete from revision`,
    ],
  ])('because %s: all is served with the next change', async (_, gap) => {
    await sql(gap);
    await sql(setCode('C2', 'The next change'));
    await expectServed();
  });

  it('and no change follows: all is served', async () => {
    await sql(load(`update communication_code set description = 'Alone' where code = 'C3'`));
    await expectServed();
  });

  it('which the metric, the log and the doctor tell', async () => {
    const doctor = async (): Promise<string> =>
      (
        await run('doctor.js', [], {
          DATABASE_URL: world.database.urlOf('order_lookup_service'),
          ...world.issuer.environment,
        })
      ).stdout;
    await until(async () => (await gaps()) === 0, PATIENCE);
    expect(await doctor()).not.toContain('record of changes may have a gap');
    await sql('alter table api_key disable trigger all');
    await until(async () => (await gaps()) === 1, PATIENCE);
    await world.service.waitForLog(
      ({ msg, tables: named }) =>
        msg.includes('the record of changes may have a gap') && named === 'api_key',
    );
    expect(await doctor()).toContain('api_key');
    await sql('alter table api_key enable trigger all');
  });
});

describe('a transaction stays open', () => {
  /** Rows of communication_code that were read so far. What a session read is counted for certain when it ends. */
  const rowsRead = async (client: Client): Promise<number> => {
    await client.query(
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity
       where datname = '${world.database.name}' and pid <> pg_backend_pid() and application_name <> ''`,
    );
    const observer = await connect();
    const { rows } = await observer.query<{ count: string }>(
      `select pg_stat_get_tuples_returned(c) + pg_stat_get_tuples_fetched(c) + (select sum(pg_stat_get_tuples_fetched(indexrelid)) from pg_index where indrelid = c) as count
       from (select 'communication_code'::regclass::oid as c) as of`,
    );
    return Number(rows[0]?.count);
  };

  it.each([
    ['in this database', undefined, `begin; insert into code_list values ('open')`, 'rollback'],
    ['in another database', 'postgres', 'begin; create table open (n int)', 'rollback'],
    [
      'prepared and forgotten',
      undefined,
      `begin; create table forgotten (n int); prepare transaction 'forgotten'`,
      `rollback prepared 'forgotten'`,
    ],
  ])('%s: a change of one code reads a few rows', async (_, name, begin, end) => {
    const other = await connect(name);
    ends.push(() => other.query(end));
    await other.query(begin);
    // The next reading is the first that sees the open transaction
    for (let change = 0; change < 2; change++) {
      const before = await rowsRead(other);
      await sql(setCode('C1', `Beside ${change}`));
      await until(
        async () => (await world.get(`${CODES}?code=C1`)).text.includes(`Beside ${change}`),
        PATIENCE,
      );
      expect((await rowsRead(other)) - before).toBeLessThanOrEqual(100);
    }
    await expectServed();
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
    await sql(`select raise_every_topic()`); // so that everything is read
    await sql(
      `insert into communication_code values ('T', 'soon', 'S', now() + interval '300 ms')`,
    );
    await until(async () => (await world.get(`${CODES}?code=soon`)).text.includes('"S"'), PATIENCE);
    await expectServed();
  });
});
