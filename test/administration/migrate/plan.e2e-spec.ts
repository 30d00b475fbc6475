import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type * as Plan from '../../../src/administration/migrate/plan/plan.js';
import { PASSWORD, createDatabase } from '../../support/database.js';
import { issueKey } from '../../support/keys.js';
import { type Outcome } from '../../support/program.js';
import { PLAN_RUN, ProgramCopy, edit } from '../../support/program-copy.js';
import { Proxy } from '../../support/proxy.js';
import { until } from '../../support/service.js';
import { testCopy } from '../../support/test-copy.js';

const { copy, database } = await testCopy(({ urlOf }) => urlOf('order_lookup_owner'));
for (const client of ['Acme', 'Other']) await issueKey(database, { client });
// The command without a process for each plan
Object.assign(process.env, copy.environment);
const path = join(copy.folder, 'dist/administration/migrate/plan/plan.js');
const planned = ((await import(path)) as typeof Plan).plan.run;

const plan = (...words: string[]): Promise<Outcome> => copy.migrate('plan', ...words);
/** What stands in the database, with the migrations that were applied. */
const contents = () =>
  database.query(
    `select to_jsonb(v)::text as row from code_list_value v union all select name from pgmigrations
     union all select to_jsonb(k)::text from api_key k order by 1`,
  );
const SAFE = 'Nothing here breaks clients.';
const UNSAFE = 'WARNING: this can break clients (lines with "!").';
const both = (...lines: string[]): string =>
  ['order-update', 'order-capture-v2'].map((area) => `\n${area}\n${lines.join('\n')}\n`).join('');
const NOTHING = '\nCallers see no difference.\n';
const POSITION = '(clients that go by position read another one)';
const TRANSFER = `insert into code_list_value (code_list, value, position) values ('orderType', 'Transfer', null);`;

describe('migrate plan shows', () => {
  it.each<[name: string, up: string, down: string, shown: string]>([
    [
      'a value at the end of a list',
      TRANSFER,
      `delete from code_list_value where value = 'Transfer';`,
      both('    + value orderType: Transfer added'),
    ],
    [
      'a value in the middle, like any other order',
      `${TRANSFER} update code_list_value set position = case value when 'Transfer' then 2 else 3 end where code_list = 'orderType' and value in ('Transfer', 'Return');
       update code_list_value set position = 9 where value = 'DryVan';`,
      `delete from code_list_value where value = 'Transfer'; update code_list_value set position = 2 where code_list = 'orderType' and value = 'Return';
       update code_list_value set position = 1 where value = 'DryVan';`,
      both(
        `  ! + value orderType: Transfer added after Standard ${POSITION}`,
        `  ! ↕ value equipmentType: DryVan moved after Tanker ${POSITION}`,
      ),
    ],
    [
      'a property, and a record',
      `insert into area_property (area, property, code_list) values ('order-update', 'more', 'orderType');
       insert into communication_code values ('A', 'B', 'The "first"');`,
      `delete from area_property where property = 'more'; delete from communication_code;`,
      '\norder-update\n    + property more added\n    + value more: Standard added\n    + value more: Return added\n' +
        '\norder-scheduling\n    + record codeType "A", code "B": "The \\"first\\"" added\n',
    ],
    [
      'a way back that leaves something behind',
      `${TRANSFER} create table more (x int);`,
      'drop table more;',
      `${both('    + value orderType: Transfer added')}\nThe way back does not restore the codes.\n`,
    ],
    [
      'a way back that fails',
      `insert into code_list (name) values ('unused');`,
      `\n\ndelete from code_lists;`,
      `${NOTHING}\nThe way back fails: 0100_x.sql, line 6: relation "code_lists" does not exist.\n`,
    ],
  ])('%s, and changes nothing', async (_name, up, down, shown) => {
    const [status, end] = shown.includes('  ! ') ? [2, UNSAFE] : [0, SAFE];
    copy.add('0100_x', up, down);
    const before = await contents();
    expect(await planned({}, [])).toMatchObject({
      status,
      text: `Pending: 0100_x\n${shown}\n${end}\nNothing was changed: this was a plan.`,
    });
    expect(await contents()).toEqual(before);
  });

  it('moments; what ends within 30 days counts as a break', async () => {
    const inDays = (days: number): string =>
      `date_trunc('day', now(), 'UTC') + interval '${days} days'`;
    copy.add(
      '0100_schedule',
      `update code_list_value set valid_until = ${inDays(5)} where value = 'Best'; update code_list_value set valid_until = ${inDays(40)} where value = 'Rail';
       insert into code_list_value (code_list, value, valid_from) values ('orderType', 'Late', ${inDays(40)});
       insert into communication_code values ('A', 'B', 'First', null, ${inDays(40)});`,
      `update code_list_value set valid_until = null where valid_until is not null; delete from code_list_value where value = 'Late'; delete from communication_code;`,
    );
    const { text } = await planned({}, []);
    const at = String.raw`at \d{4}-\d\d-\d\dT00:00:00\.000Z`;
    for (const said of [
      String.raw`${at}, order-update\n {2}! - value transportationMode: Best removed \(`,
      String.raw` {4}\+ value orderType: Late added\n`,
      String.raw` {4}- value transportationMode: Rail removed\n`,
      String.raw`${at}, order-scheduling\n {4}- record codeType "A", code "B": "First" removed\n`,
    ])
      expect(text).toMatch(new RegExp(said));
    expect(JSON.parse((await plan('--json')).stdout)).toMatchObject({
      migrations: ['0100_schedule'],
      changes: { length: 8 },
      canBreakClients: true,
    });
    expect(await copy.migrate('up')).toMatchObject({ status: 0 });
    copy.add('0101_change', `update communication_code set description = 'Second';`, 'select 1;');
    expect((await planned({}, [])).text).toContain(
      '    ~ record codeType "A", code "B": "First" → "Second" changed\n',
    );
    expect((await copy.migrate('down', '--yes')).stdout).toContain(
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
    expect(status).toBe(0);
    expect(await empty.query(`select where to_regclass('pgmigrations') is null`)).toHaveLength(1);
    await empty.drop();
  });

  it('that it cannot tell, where a value of an enum has to be committed first', async () => {
    await database.query(`create type m as enum ('a'); alter type m owner to order_lookup_owner`);
    copy.add('0100_extend', `alter type m add value 'b';`);
    copy.add('0101_use', `select 'b'::m;`);
    const refusal = /^The plan cannot tell what callers would see: 0101_use.sql/;
    await expect(planned({}, [])).rejects.toThrow(refusal);
  });
});

describe('migrate plan sees what the service would see:', () => {
  const CODES = '! the service would not serve the codes: ';
  const KEYS = '! callers will be refused: the service could not read its keys: ';
  const LOST = '! callers will be refused: keys of Acme';
  const TO_SERVICE = 'from order_lookup_service;';
  it.each([
    ['truncate api_key;', `${LOST}, Other\n`],
    ['drop table api_key cascade;', `${KEYS}relation "public.api_key" does not exist`],
    ['drop table communication_code;', `${CODES}relation `],
    [
      'drop trigger record_update on communication_code;',
      '! the service relies on it: trigger record_update of communication_code is missing\n',
    ],
    [`revoke select on api_key ${TO_SERVICE}`, `${KEYS}permission denied`],
    [`revoke select on communication_code ${TO_SERVICE}`, `${CODES}permission denied`],
    [`revoke select on revision ${TO_SERVICE}`, `${KEYS}permission denied`],
    ['alter table api_key enable row level security;', `${KEYS}query would be affected by`],
    ['alter table code_list_value enable row level security;', `${CODES}query would be affected`],
    [`update api_key set revoked_at = now() where client = 'Acme';`, `${LOST}\n`],
    [`update api_key set key_hash = sha256('x') where client = 'Acme';`, LOST],
    [`update api_key set expires_at = now() + interval '29 days' where client = 'Acme';`, LOST],
    [`delete from area_property where area = 'order-update';`, `${CODES}the area order-update has`],
  ])('%s', async (sql, said) => {
    copy.add('0100_x', sql);
    const before = await contents();
    const { status, text } = await planned({}, []);
    expect({ status, text }).toEqual({ status: 2, text: expect.stringContaining(said) });
    expect(text).toContain(UNSAFE);
    expect(await contents()).toEqual(before);
  });
});

describe('a plan beside others', () => {
  it('contains nothing that a writer changes', async () => {
    const stubborn = new ProgramCopy();
    edit(join(stubborn.folder, PLAN_RUN), /500 ?ms/g, '1 h'); // on a slow machine it would give way each time
    stubborn.environment = copy.environment;
    stubborn.add('0100_add', TRANSFER, `delete from code_list_value where value = 'Transfer';`);
    const over = new AbortController();
    const writing = async (...statements: string[]): Promise<void> => {
      for (let at = 0; !over.signal.aborted; at++) {
        await database.query(statements[at % statements.length] ?? '');
        await pause(5);
      }
    };
    const writers = [
      writing(
        `delete from code_list_value where value = 'Written'`,
        `insert into code_list_value (code_list, value) values ('orderType', 'Written')`,
      ),
      writing(`update api_key set revoked_at = now() where client = 'Other'`),
    ];
    for (let round = 0; round < 3; round++) {
      const { changes } = JSON.parse((await stubborn.migrate('plan', '--json')).stdout) as {
        changes: { name: string }[];
      };
      expect(changes.map(({ name }) => name)).toEqual(['Transfer', 'Transfer']);
    }
    over.abort();
    await Promise.all(writers);
    stubborn.remove();
  });

  it('run by a role of a person gives way to a writer who waits', async () => {
    const username = `ada_${database.name.slice(-12)}`;
    await database.query(
      `create role ${username} login password '${PASSWORD}' in role order_lookup_owner; alter role ${username} set role = 'order_lookup_owner'`,
    );
    copy.environment = { DATABASE_URL: database.urlOf(username) };
    copy.add('0100_slow', 'lock table communication_code; select pg_sleep(3600);');
    const outcome = plan();
    const isAsleep = `select from pg_stat_activity where usename = '${username}' and wait_event = 'PgSleep'`;
    await until(async () => (await database.query(isAsleep)).length > 0);
    await database.query(`insert into communication_code values ('T', '1', 'Written')`);
    expect(await outcome).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^The plan came to no end, and nothing was changed: another session had to wait\. .*\n$/,
      ),
    });
    await database.query(`drop role ${username}`);
  });

  it('ends with one sentence while a writer holds a lock', async () => {
    copy.add('0100_add', `insert into code_list (name) values ('added');`);
    const holder = await database.session();
    await holder.query('begin; lock table code_list in exclusive mode');
    expect(await plan()).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^The plan came to no end, and nothing was changed: .*\n$/),
    });
    await holder.query('rollback');
  });

  it.each(['killed', 'cut from its server', 'ended by its server'])(
    'that is %s leaves no lock and ends',
    async (how) => {
      const proxy = await Proxy.before(database.urlOf('order_lookup_owner'));
      copy.environment = { DATABASE_URL: proxy.url };
      copy.add('0100_slow', 'lock table communication_code; select pg_sleep(3600);');
      const sessions = `from pg_stat_activity where datname = current_database() and application_name = 'order-lookup-administration'`;
      const isAsleep = `select ${sessions} and wait_event = 'PgSleep'`;
      const { child, ended } = copy.start('migrate', 'plan');
      await until(async () => (await database.query(isAsleep)).length > 0);
      if (how === 'killed') child.kill('SIGKILL');
      else if (how === 'cut from its server') proxy.cut();
      else await database.query(`select pg_terminate_backend(pid) ${sessions}`);
      const { stderr } = await ended;
      expect(stderr).toMatch(
        how === 'killed' ? /^$/ : /^(The plan came to no end|.*terminating connection).*\n$/,
      );
      await until(async () => (await database.query(`select ${sessions}`)).length === 0);
      proxy.close();
    },
  );
});
