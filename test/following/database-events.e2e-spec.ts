// Tests that an event in the database does no harm: soon afterwards, the service answers exactly what a query returns.
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AREAS } from '../../src/lookups/code-rows.js';
import { queryAt } from '../support/database.js';
import { issueKey } from '../support/api-keys.js';
import { runLine } from '../support/local-program.js';
import { localWorld } from '../support/local-world.js';
import { useMovableClock } from '../support/monotonic-clock.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { until } from '../support/until.js';

const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
/** READ_INTERVAL_MS of followed-topic.ts. After this time the service reads everything, even without a new revision. */
const TEN_MINUTES_MS = 10 * 60_000;
/** The longest wait of pg_terminate_backend for the end of a session. It is longer than any test may take. */
const SESSION_END_TIMEOUT_MS = 600_000;
useMovableClock();
const world = localWorld();
/** The functions that undo the effects of a test, also if the test fails. */
const cleanups: (() => Promise<unknown>)[] = [];

const sql = (text: string): Promise<unknown> => world.database.query(text);
const setCode = (code: string, description: string): string =>
  `insert into communication_code values ('T', '${code}', '${description}')
   on conflict (code_type, code) do update set description = excluded.description`;
const setDescription = (code: string, description: string): string =>
  `update communication_code set description = '${description}' where code = '${code}'`;
const TRIGGERS_OFF = ['communication_code', 'code_list_value']
  .map((table) => `alter table ${table} disable trigger all`)
  .join('; ');
/** Enables all triggers as the migrations did. With `always` they fire even if session_replication_role is replica. */
const TRIGGERS_ON = `do $$
  declare statement text;
  begin
    for statement in
      select format('alter table %s enable always trigger %I', tgrelid::regclass, tgname)
      from pg_trigger where not tgisinternal and tgenabled <> 'A'
    loop
      execute statement;
    end loop;
  end $$`;
const FROM_SERVICE_SESSIONS = `from pg_stat_activity
  where application_name = 'order-lookup-services' and datname = current_database()`;
const endSessions = (): Promise<unknown> =>
  sql(`select pg_terminate_backend(pid, ${SESSION_END_TIMEOUT_MS}) ${FROM_SERVICE_SESSIONS}`);

const IN_FORCE = 'coalesce(valid_from <= now(), true) and coalesce(valid_until > now(), true)';
/** Makes the answers that the operations must give now, with queries and JSON.stringify only. */
async function queryAnswers(): Promise<string[]> {
  const { query } = world.database;
  const communicationRecords = await query(
    `select code_type as "codeType", code, description from communication_code
     where ${IN_FORCE} order by code_type collate "C", code collate "C"`,
  );
  const properties = await query<{ area: string; property: string; values: string[] }>(
    `select area, property, array(
         select value from code_list_value v
         where v.code_list = p.code_list and ${IN_FORCE} order by position
       ) as values
     from area_property p order by area, position`,
  );
  const supportedValues = (area: string) => {
    const ofArea = properties.filter((row) => row.area === area);
    return Object.fromEntries(ofArea.map((row) => [row.property, row.values]));
  };
  return [...AREAS.map(supportedValues), { communicationRecords }].map((answer) => JSON.stringify(answer));
}
const fetchAnswers = (): Promise<string[]> => Promise.all(ALL_PATHS.map(async (path) => (await world.get(path)).text));

/** Waits until the service answers what a query returns. */
async function expectServed(): Promise<void> {
  await until(async () => {
    // `expect` throws. So if the answers never become equal, the test shows the difference
    expect(await fetchAnswers()).toEqual(await queryAnswers());
    return true;
  });
}

const expectStatus = (key: string, status: number): Promise<void> =>
  until(async () => (await world.get(UPDATE, { headers: { 'Api-Key': key } })).status === status);

/** Runs SQL in the database `postgres`, because a session cannot rename or drop its own database. */
const queryServer = (text: string): Promise<unknown> =>
  queryAt(Object.assign(new URL(world.database.url), { pathname: '/postgres' }).href, text);

beforeAll(async () => {
  await sql(`insert into communication_code select 'T', 'C' || n, 'Code ' || n from generate_series(1, 500) as n`);
  await expectServed();
});
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
});

it('if an older copy replaces the database, only the content of the copy is served', async () => {
  const { name } = world.database;
  const keys = [await issueKey(world.database), await issueKey(world.database)] as const;
  const whileClosed = async (...work: string[]): Promise<void> => {
    for (const statement of [
      `alter database ${name} allow_connections false`,
      `select pg_terminate_backend(pid, ${SESSION_END_TIMEOUT_MS}) from pg_stat_activity where datname = '${name}'`,
      ...work,
      `alter database ${name} allow_connections true`,
    ])
      await queryServer(statement);
  };
  const change = (code: string, { id }: { id: string }): Promise<unknown> =>
    sql(`${setCode('C1', code)}; ${setCode(code, 'New')}; update api_key set revoked_at = now() where id = '${id}'`);
  await whileClosed(`create database ${name}_copy template ${name}`);
  await change('lost', keys[0]);
  await expectServed();
  await expectStatus(keys[0].key, 401);
  await whileClosed(`alter database ${name} rename to ${name}_lost`, `alter database ${name}_copy rename to ${name}`);
  // Each of the two databases has had one change since the copy. So if revisions were counters, they would be equal
  await change('found', keys[1]);
  await expectServed();
  await expectStatus(keys[0].key, 200);
  await expectStatus(keys[1].key, 401);
  await queryServer(`drop database ${name}_lost`);
});

describe('an older dump is restored into the live database', () => {
  const TABLES = ['communication_code', 'code_list_value', 'revision', 'history'];
  const restore = TABLES.map(
    (table) => `delete from ${table}; insert into ${table} overriding system value select * from older_${table}`,
  ).join('; ');

  it.each([
    { how: 'with triggers', statements: restore },
    { how: 'without triggers', statements: `${TRIGGERS_OFF}; ${restore}; ${TRIGGERS_ON}` },
    {
      how: 'with session_replication_role = replica',
      statements: `set session_replication_role = replica; ${restore}; reset session_replication_role`,
    },
  ])('$how: the dump is served, and so is the next change', async ({ statements }) => {
    await sql(TABLES.map((table) => `create table older_${table} as select * from ${table}`).join('; '));
    cleanups.push(() => sql(TABLES.map((table) => `drop table older_${table}`).join('; ')));
    await sql(setCode('C1', 'Newer'));
    await world.database.addValue('Newer');
    await expectServed();
    await sql(`begin; ${statements}; commit`);
    await expectServed();
    await sql(setCode('C2', 'The next change'));
    await expectServed();
  });
});

describe('if triggers are switched off', () => {
  it('the doctor reports them, also after the next change and the next migration', async () => {
    cleanups.push(() => sql(TRIGGERS_ON));
    await sql('alter table communication_code disable trigger record_update');
    await sql(setDescription('C3', 'Unseen'));
    await sql(
      `${setCode('new', 'Seen')};
       insert into pgmigrations (name, run_on) values ('0099_next', now());
       delete from pgmigrations where name = '0099_next'`,
    );
    const { stdout } = await runLine('doctor', world.environmentWith({}));
    expect(stdout).toMatch(/^fault +triggers .*communication_code/m);
    await expectServed(); // the service reads because of the later changes, and also finds the unseen one
  });

  it('a change has no new revision, so it is served after the next full reading', async () => {
    cleanups.push(() => sql(TRIGGERS_ON));
    await sql('alter table communication_code disable trigger record_update');
    await sql(setDescription('C3', 'Without a revision'));
    jest.advanceTimersByTime(TEN_MINUTES_MS);
    await expectServed();
  });
});

it.each([
  {
    event: 'columns of another collation',
    statements: `alter table communication_code alter code_type type text collate "und-x-icu",
       alter code type text collate "und-x-icu";
     ${setCode('b', 'B')}; ${setCode('B', 'B')}; ${setCode('a', 'A')}`,
  },
  { event: 'VACUUM FULL', statements: 'vacuum full communication_code' },
  {
    event: 'an added column',
    statements: `alter table communication_code add column note text default 'N'`,
  },
  { event: 'a dropped column', statements: 'alter table communication_code drop column note' }, // added just before
  { event: 'an emptied history', statements: 'truncate history' },
  {
    event: 'an emptied table of revisions, and a change of a code and of keys',
    statements: `truncate revision; ${setCode('C9', 'With a revision')}; update api_key set client = client || '.'`,
  },
  {
    event: 'a TRUNCATE and a load in one transaction',
    statements: `begin; truncate communication_code; ${setCode('only', 'One')}; commit`,
  },
])('$event: the next change is still served', async ({ event, statements }) => {
  await sql(statements);
  await sql(setCode('C1', `After ${event}`));
  await expectServed();
});

// No trigger of a table sees DDL. But the trigger of pgmigrations sees the new row there, and writes new revisions
it('content that a migration changes by DDL is served', async () => {
  await sql(
    `begin;
     alter table communication_code alter description type text using upper(description);
     insert into pgmigrations (name, run_on) values ('0098_upper', now());
     commit`,
  );
  await expectServed();
});

/** Functions with the names of PostgreSQL's own functions. They fail, so the service must not call them. */
const FOREIGN = ['clock_timestamp', 'now', 'version', 'current_schema', 'current_database'].map(
  (name) => `function public.${name}()`,
);

it.each(['pg_temp', 'public, pg_catalog'])(
  'changes are served also with other settings of the role and the search_path %s',
  async (path) => {
    const SETTINGS = {
      DateStyle: 'German',
      TimeZone: 'Asia/Kathmandu',
      bytea_output: 'escape',
      default_transaction_isolation: 'serializable',
      extra_float_digits: '-15',
      IntervalStyle: 'sql_standard',
      standard_conforming_strings: 'off',
      row_security: 'off',
      default_transaction_deferrable: 'on',
      default_transaction_read_only: 'on',
      idle_session_timeout: '1000',
    };
    const role = `alter role order_lookup_service in database ${world.database.name}`;
    const expiring = await issueKey(world.database, { expiresAt: '2090-01-31T00:00:00Z' });
    const revoked = await issueKey(world.database, { revokedAt: new Date().toISOString() });
    cleanups.push(endSessions, () => sql(`${role} reset all`));
    for (const [name, value] of Object.entries(SETTINGS)) await sql(`${role} set ${name} = '${value}'`);
    await sql(`${role} set search_path = ${path}`);
    cleanups.push(() =>
      sql(`drop ${FOREIGN.join('; drop ')}; delete from communication_code where code in ('s', 'ended', 'soon')`),
    );
    for (const each of FOREIGN) {
      await sql(`create ${each} returns text language plpgsql as $$ begin raise exception 'foreign'; end $$`);
    }
    await endSessions();
    await sql(
      `begin;
     insert into communication_code values
       ('T', 's', '\\ "Ä"', now() - interval '1 day', now() + interval '1 day'),
       ('T', 'ended', 'E', null, now() - interval '1 s');
     ${setCode('C1', `Set ${path}`)}; commit`,
    );
    await expectServed();
    await expectStatus(expiring.key, 200);
    await expectStatus(revoked.key, 401);
    await sql(`insert into communication_code values ('T', 'soon', 'S', now() + interval '300 ms')`);
    await until(async () => (await world.get(`${CODES}?code=soon`)).text.includes('"S"'));
    await expectServed();
  },
);
