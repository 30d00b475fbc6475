import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { PASSWORD, type TestDatabase, createDatabase } from '../../support/database.js';
import { issueKey } from '../../support/keys.js';
import { type Outcome } from '../../support/program.js';
import { ProgramCopy } from '../../support/program-copy.js';
import { Proxy } from '../../support/proxy.js';
import { until } from '../../support/service.js';

let copy: ProgramCopy;
let database: TestDatabase;

beforeAll(() => {
  copy = new ProgramCopy();
});
afterAll(() => copy.remove());
beforeEach(async () => {
  copy.reset();
  database = await createDatabase();
  copy.environment = { DATABASE_URL: database.urlOf('order_lookup_owner') };
});
afterEach(() => database.drop());

const plan = (...words: string[]): Promise<Outcome> => copy.migrate('plan', ...words);
/** Locks that sessions of the commands hold. */
const locks = () =>
  database.query(
    `select relation::regclass, mode from pg_locks join pg_stat_activity using (pid)
      where datname = current_database() and application_name = 'order-lookup-administration'`,
  );
/** Databases of the same template have the same numbers of tables. */
const isLocked = async (table: string): Promise<boolean> => {
  const held = `select from pg_locks join pg_database d on d.oid = database where granted and relation = $1::regclass and datname = current_database()`;
  return (await database.query(held, [table])).length > 0;
};
/** What stands in the database, with the migrations that were applied. */
const contents = () =>
  database.query(
    `select to_jsonb(v)::text as row from code_list_value v union all select name from pgmigrations order by 1`,
  );
const BOTH = ['order-update', 'order-capture-v2'];
const SAFE = 'Nothing here breaks clients.\nNothing was changed: this was a plan.\n';
const UNSAFE =
  'WARNING: this can break clients (lines with "!").\nNothing was changed: this was a plan.\n';

describe('migrate plan shows', () => {
  const cases: [name: string, up: string, down: string, status: number, lines: string[]][] = [
    [
      'a value at the end of a list',
      `insert into code_list_value (code_list, value) values ('orderType', 'Transfer');`,
      `delete from code_list_value where value = 'Transfer';`,
      0,
      BOTH.flatMap((area) => ['', area, '    + value orderType: Transfer added']),
    ],
    [
      'a value in the middle, like any other order',
      `update code_list_value set position = 3 where code_list = 'orderType' and value = 'Return';
       insert into code_list_value (code_list, value, position) values ('orderType', 'Transfer', 2);
       update code_list_value set position = 9 where value = 'DryVan';`,
      `delete from code_list_value where value = 'Transfer';
       update code_list_value set position = 2 where code_list = 'orderType' and value = 'Return';
       update code_list_value set position = 1 where value = 'DryVan';`,
      2,
      BOTH.flatMap((area) => [
        '',
        area,
        '  ! + value orderType: Transfer added after Standard (clients that go by position read another one)',
        '  ! ↕ value equipmentType: DryVan moved after Tanker (clients that go by position read another one)',
      ]),
    ],
    [
      'what is renamed and what goes',
      `update code_list_value set value = 'Flatbed' where value = 'FlatBed'; delete from code_list_value where value = 'Best';`,
      `update code_list_value set value = 'FlatBed' where value = 'Flatbed'; insert into code_list_value values ('transportationMode', 'Best', 6);`,
      2,
      BOTH.flatMap((area) => [
        '',
        area,
        '  ! ~ value equipmentType: FlatBed → Flatbed renamed (for clients the old one is gone)',
        '  ! - value transportationMode: Best removed (orders and clients may still hold it)',
      ]),
    ],
    [
      'records',
      `insert into communication_code (code_type, code, description) values ('A', 'B', 'The "first"');`,
      'delete from communication_code;',
      0,
      ['', 'order-scheduling', '    + record codeType "A", code "B": "The \\"first\\"" added'],
    ],
    [
      'a way back that leaves something behind',
      `insert into code_list (name) values ('unused'); create table more (x int);`,
      'drop table more;',
      0,
      [
        '',
        'Callers see no difference.',
        '',
        'The way back: that of 0100_x leaves something else than was there before: rows of code_list.',
      ],
    ],
    [
      'a way back that fails',
      `insert into code_list (name) values ('unused');`,
      `delete from code_lists;`,
      0,
      [
        '',
        'Callers see no difference.',
        '',
        'The way back: that of 0100_x fails: 0100_x.sql, line 4: relation "code_lists" does not exist.',
      ],
    ],
  ];
  it.each(cases)('%s, and changes nothing', async (_name, up, down, status, lines) => {
    copy.add('0100_x', up, down);
    const before = await contents();
    const { status: ended, stdout, stderr } = await plan();
    expect(stdout.split('\n')).toEqual([
      'Pending: 0100_x',
      ...lines,
      '',
      ...(status === 2 ? UNSAFE : SAFE).split('\n'),
    ]);
    expect({ ended, stderr }).toEqual({ ended: status, stderr: '' });
    expect(await contents()).toEqual(before);
  });

  it('moments; what ends within 30 days counts as a break', async () => {
    const in5 = (days: number): string =>
      `date_trunc('day', now(), 'UTC') + interval '${days} days'`;
    copy.add(
      '0100_schedule',
      `update code_list_value set valid_until = ${in5(5)} where value = 'Best'; update code_list_value set valid_until = ${in5(40)} where value = 'Rail';`,
      `update code_list_value set valid_until = null where valid_until is not null;`,
    );
    const { status, stdout } = await plan();
    expect(status).toBe(2);
    expect(stdout).toMatch(
      /at \d{4}-\d\d-\d\dT00:00:00\.000Z, order-update\n {2}! - value transportationMode: Best removed \(in 4 days: /,
    );
    expect(stdout).toMatch(/ {4}- value transportationMode: Rail removed\n/);
    const { changes, canBreakClients } = JSON.parse((await plan('--json')).stdout) as {
      changes: object[];
      canBreakClients: boolean;
    };
    expect({ count: changes.length, canBreakClients }).toEqual({ count: 4, canBreakClients: true });
    expect(await copy.migrate('up')).toMatchObject({ status: 0 });
    expect((await copy.migrate('down')).stdout).toContain(
      'value transportationMode: Best no longer removed',
    );
  });

  it('everything, from an empty database', async () => {
    const empty = await createDatabase({ migrated: false });
    await empty.query(
      `grant usage, create on schema public to order_lookup_owner; alter default privileges for role order_lookup_owner grant select on tables to order_lookup_service`,
    );
    copy.environment = { DATABASE_URL: empty.urlOf('order_lookup_owner') };
    const { status, stdout } = await plan();
    expect(stdout).toContain('+ property orderType added');
    expect(stdout).not.toContain('The way back');
    expect(status).toBe(0);
    expect(
      await empty.query(
        `select to_regclass('code_list') as one, to_regclass('pgmigrations') as two`,
      ),
    ).toEqual([{ one: null, two: null }]);
    await empty.drop();
  });

  it('that it cannot tell, where a value of an enum has to be committed first', async () => {
    copy.add('0100_make', `create type mode as enum ('a');`);
    copy.add('0101_extend', `alter type mode add value 'b';`);
    expect(await copy.migrate('up')).toMatchObject({ status: 0 });
    copy.add('0102_extend', `alter type mode add value 'c';`);
    copy.add('0103_use', `create table used as select 'c'::mode as m;`);
    expect(await plan()).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^The plan cannot tell what callers would see: 0103_use.sql/),
    });
    expect(await copy.migrate('up')).toMatchObject({ status: 0 });
  });
});

describe('migrate plan sees what the service would see:', () => {
  const CODES = '! the service would not serve the codes: ';
  const KEYS = '! callers will be refused: the service could not read its keys: ';
  const MAY_NOT = 'order_lookup_service may not read all rows of';
  const ACME = `where client = 'Acme';`;
  it.each([
    ['truncate api_key;', '2 → 0\n! callers will be refused: keys of Acme, Other'],
    ['drop table api_key cascade;', `${KEYS}relation "public.api_key" does not exist`],
    ['revoke select on api_key from order_lookup_service;', `${KEYS}${MAY_NOT} api_key`],
    ['alter table api_key enable row level security;', `${KEYS}${MAY_NOT} api_key`],
    [`update api_key set revoked_at = now() ${ACME}`, '2 → 1\n! callers will be refused: keys of'],
    [
      `update api_key set key_hash = sha256('x') ${ACME}`,
      '2 → 2\n! callers will be refused: keys of',
    ],
    ['revoke select on communication_code from order_lookup_service;', `${CODES}${MAY_NOT}`],
    ['revoke select on revision from order_lookup_service;', `${KEYS}${MAY_NOT} revision`],
    ['alter table code_list_value enable row level security;', `${CODES}${MAY_NOT}`],
    [`delete from area_property where area = 'order-update';`, `${CODES}the area order-update has`],
    ['drop table communication_code;', `${CODES}relation `],
  ])('%s', async (sql, said) => {
    await issueKey(database, { client: 'Acme' });
    await issueKey(database, { client: 'Other' });
    copy.add('0100_x', sql);
    const { status, stdout, stderr } = await plan();
    expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
    expect(stdout).toContain(said);
    expect(stdout.endsWith(UNSAFE)).toBe(true);
    expect((await database.query('select from api_key where revoked_at is null')).length).toBe(2);
  });
});

describe('a plan beside others', () => {
  it('contains nothing that a writer changes, who never waits for more than a second', async () => {
    copy.add(
      '0100_add',
      `insert into code_list_value (code_list, value) values ('orderType', 'Planned');`,
      `delete from code_list_value where value = 'Planned';`,
    );
    const over = new AbortController();
    const writer = (async () => {
      let longest = 0;
      while (!over.signal.aborted) {
        for (const sql of [
          `insert into code_list_value (code_list, value) values ('orderType', 'Written')`,
          `delete from code_list_value where value = 'Written'`,
        ]) {
          const begun = performance.now();
          await database.query(sql);
          longest = Math.max(longest, performance.now() - begun);
        }
        await pause(5);
      }
      return longest;
    })();
    try {
      for (let round = 0; round < 5; round++) {
        const { changes } = JSON.parse((await plan('--json')).stdout) as {
          changes: { name: string }[];
        };
        expect(changes.map(({ name }) => name)).toEqual(['Planned', 'Planned']);
      }
    } finally {
      over.abort();
    }
    expect(await writer).toBeLessThan(1_000);
  });

  it('run by a role of a person gives way to a writer who waits, and succeeds in the end', async () => {
    const username = `ada_${database.name.slice(-12)}`;
    await database.query(
      `create role ${username} login password '${PASSWORD}' in role order_lookup_owner; alter role ${username} set role = 'order_lookup_owner'`,
    );
    copy.environment = {
      DATABASE_URL: Object.assign(new URL(database.url), { username, password: PASSWORD }).href,
    };
    // A sequence remembers the first attempt, which would hold its lock for an hour
    await database.query('create sequence attempt; grant usage on attempt to order_lookup_owner');
    copy.add(
      '0100_slow',
      `lock table communication_code in exclusive mode;
       select pg_sleep(case nextval('attempt') when 1 then 3600 else 0 end);`,
      'select 1;',
    );
    const planned = plan('--json');
    await until(
      async () => (await database.query('select from attempt where is_called')).length > 0,
    );
    const begun = performance.now();
    await database.query(`insert into communication_code values ('T', '1', 'Written')`);
    expect(performance.now() - begun).toBeLessThan(1_000);
    const { status, stdout, stderr } = await planned;
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ migrations: ['0100_slow'], changes: [] });
    expect(await database.query('select last_value::int as attempts from attempt')).toEqual([
      { attempts: 2 },
    ]);
  });

  it('ends with one sentence while a writer holds a lock', async () => {
    copy.add('0100_add', `insert into code_list (name) values ('added');`);
    const holder = new Client(database.url);
    holder.on('error', () => undefined);
    await holder.connect();
    await holder.query('begin; lock table code_list in exclusive mode');
    expect(await plan()).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Other sessions hold locks that the plan needs, .*\n$/),
    });
    await holder.end();
  });

  it.each([
    ['killed', ({ child }: Running) => void child.kill('SIGKILL'), undefined],
    ['cut from its server', ({ proxy }: Running) => proxy.cut(), /^The plan came to no end/],
    [
      'ended by its server',
      () =>
        void database.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'order-lookup-administration' and datname = current_database()`,
        ),
      /^The plan came to no end/,
    ],
  ])('that is %s leaves no lock and ends', async (_how, end, said) => {
    const url = database.urlOf('order_lookup_owner');
    const proxy = await Proxy.before(Number(new URL(url).port));
    copy.environment = { DATABASE_URL: proxy.through(url) };
    copy.add('0100_slow', 'lock table communication_code; select pg_sleep(3600);');
    const { child, ended } = copy.start('migrate', 'plan');
    await until(() => isLocked('communication_code'));
    end({ child, proxy });
    const { stderr } = await ended;
    if (said) expect(stderr).toMatch(said);
    await until(async () => (await locks()).length === 0);
    proxy.close();
  });
});

interface Running {
  readonly child: ReturnType<ProgramCopy['start']>['child'];
  readonly proxy: Proxy;
}
