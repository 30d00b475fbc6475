import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type * as Plan from '../../../src/administration/migrate/plan/plan.command.js';
import { PASSWORD, createDatabase } from '../../support/database.js';
import { issueKey } from '../../support/keys.js';
import { type Outcome } from '../../support/program.js';
import { ProgramCopy, REHEARSAL, edit } from '../../support/program-copy.js';
import { Proxy } from '../../support/proxy.js';
import { until } from '../../support/service.js';
import { testCopy } from '../../support/test-copy.js';

const { copy, database } = await testCopy(({ urlOf }) => urlOf('order_lookup_owner'));
for (const client of ['Acme', 'Other']) await issueKey(database, { client });
// The command without a process for each plan
Object.assign(process.env, copy.environment);
const path = join(copy.folder, 'dist/administration/migrate/plan/plan.command.js');
const { plan: command } = (await import(path)) as typeof Plan;
const planned = () => command.run({}, []);

const plan = (...words: string[]): Promise<Outcome> => copy.migrate('plan', ...words);
/** What stands in the database, with the migrations that were applied. */
const contents = () =>
  database.query(
    `select to_jsonb(v)::text as row from code_list_value v union all select name from pgmigrations
     union all select to_jsonb(k)::text from api_key k order by 1`,
  );
const SAFE = 'Nothing here breaks clients.';
const UNSAFE = 'WARNING: this can break clients (lines with "!").';
/** The lines of a list that both areas return. */
const both = (property: string, ...lines: string[]): string =>
  ['order-update', 'order-capture-v2']
    .map((area) => `\n${area}, ${property}\n${lines.join('\n')}\n`)
    .join('');
const NOTHING = '\nCallers see no difference.\n';
const POSITION = '(clients that go by position read another one)';
const TRANSFER = `insert into code_list_value (code_list, value, position) values ('orderType', 'Transfer', null);`;

describe('migrate plan shows', () => {
  it.each<[name: string, up: string, down: string, shown: string]>([
    [
      'a value at the end of a list',
      TRANSFER,
      `delete from code_list_value where value = 'Transfer';`,
      `\nCallers see 2 changes: 2 added.\n${both('orderType', '    + Transfer added')}`,
    ],
    [
      'a value in the middle, and any other order',
      `${TRANSFER} update code_list_value set position = case value when 'Transfer' then 2 else 3 end
         where code_list = 'orderType' and value in ('Transfer', 'Return');
       update code_list_value set position = 9 where value = 'DryVan';`,
      `delete from code_list_value where value = 'Transfer';
       update code_list_value set position = 2 where code_list = 'orderType' and value = 'Return';
       update code_list_value set position = 1 where value = 'DryVan';`,
      '\nCallers see 6 changes: 2 added, 4 order changed; 4 can break clients.\n' +
        ['order-update', 'order-capture-v2']
          .map(
            (area) => `
${area}, orderType
  ! ↕ order changed ${POSITION}: Standard, Transfer, Return
    + Transfer added

${area}, equipmentType
  ! ↕ order changed ${POSITION}: FlatBed, Refrigerated, Container, Tanker, DryVan
`,
          )
          .join(''),
    ],
    [
      'a property, and a record',
      `insert into area_property (area, property, code_list) values ('order-update', 'more', 'orderType');
       insert into communication_code values ('A', 'B', 'The "first"');`,
      `delete from area_property where property = 'more'; delete from communication_code;`,
      `
Callers see 4 changes: 4 added.

order-update, properties
    + more added

order-update, more
    + Standard added
    + Return added

order-scheduling
    + codeType "A", code "B": "The \\"first\\"" added
`,
    ],
    [
      'a property in another place, which breaks nobody',
      `update area_property set position = 99 where area = 'order-update' and property = 'commentType';`,
      `update area_property set position = 1 where area = 'order-update' and property = 'commentType';`,
      expect.stringMatching(
        /1 change: 1 order changed\.\n\norder-update, properties\n {4}↕ order changed: preferred.{100,}…\n$/,
      ) as unknown as string,
    ],
    [
      'a way back that leaves something behind',
      `${TRANSFER} create table more (x int);`,
      'drop table more;',
      `
Callers see 2 changes: 2 added.
${both('orderType', '    + Transfer added')}
The way back of 0100_x does not restore the codes.
`,
    ],
    [
      'a way back that fails',
      `insert into code_list (name) values ('unused');`,
      `\n\ndelete from code_lists;`,
      `${NOTHING}\nThe way back of 0100_x fails: 0100_x.sql, line 6: relation "code_lists" does not exist.\n`,
    ],
  ])('%s, and changes nothing', async (_name, up, down, shown) => {
    const isUnsafe = typeof shown === 'string' && shown.includes('  ! ');
    const [status, end] = isUnsafe ? [2, UNSAFE] : [0, SAFE];
    copy.add('0100_x', up, down);
    const before = await contents();
    const outcome = await planned();
    const [first, ...rest] = outcome.text.split('\n');
    const tail = `\n${end}\nNothing was changed: this was a plan.`;
    expect(outcome.status).toBe(status);
    expect([first, outcome.text.slice(-tail.length)]).toEqual(['Pending: 0100_x', tail]);
    expect(rest.join('\n').slice(0, -tail.length)).toEqual(shown);
    expect(await contents()).toEqual(before);
  });

  it('moments; what ends within 30 days counts as a break', async () => {
    const inDays = (days: number): string =>
      `date_trunc('day', now(), 'UTC') + interval '${days} days'`;
    copy.add(
      '0100_schedule',
      `update code_list_value set valid_until = ${inDays(5)} where value = 'Best';
       update code_list_value set valid_until = ${inDays(40)} where value = 'Rail';
       insert into code_list_value (code_list, value, valid_from) values ('orderType', 'Late', ${inDays(40)});
       insert into communication_code values ('A', 'B', 'First', null, ${inDays(40)});`,
      `update code_list_value set valid_until = null where valid_until is not null;
       delete from code_list_value where value = 'Late'; delete from communication_code;`,
    );
    const { text } = await planned();
    const at = String.raw`at \d{4}-\d\d-\d\dT00:00:00\.000Z`;
    for (const said of [
      String.raw`\norder-update, transportationMode\n {2}! - Best removed ${at} \(orders .*\n`,
      String.raw`\(orders .*\n {4}- Rail removed ${at}\n`,
      String.raw`\norder-update, orderType\n {4}\+ Late added ${at}\n`,
      String.raw`\norder-scheduling\n.*added\n {4}- codeType "A", code "B": "First" removed ${at}\n`,
    ])
      expect(text).toMatch(new RegExp(said));
    expect(JSON.parse((await plan('--json')).stdout)).toMatchObject({
      migrations: ['0100_schedule'],
      changes: { length: 8 },
      canBreakClients: true,
    });
    expect(await copy.migrate('up')).toMatchObject({ status: 0 });
    copy.add('0101_change', `update communication_code set description = 'Second';`, 'select 1;');
    expect((await planned()).text).toContain(
      '    ~ codeType "A", code "B": "First" → "Second" changed\n',
    );
    expect((await copy.migrate('down', '--yes')).stdout).toContain('- Best no longer removed at ');
  });

  it('everything, from an empty database', async () => {
    const empty = await createDatabase({ migrated: false });
    await empty.query(
      `grant usage, create on schema public to order_lookup_owner;
       alter default privileges for role order_lookup_owner grant select on tables to order_lookup_service`,
    );
    copy.environment = { DATABASE_URL: empty.urlOf('order_lookup_owner') };
    const { status, stdout } = await plan();
    expect(stdout).toContain('+ orderType added');
    expect(status).toBe(0);
    expect(await empty.query(`select where to_regclass('pgmigrations') is null`)).toHaveLength(1);
    await empty.drop();
  });

  it('that it cannot tell, where a value of an enum has to be committed first', async () => {
    await database.query(`create type m as enum ('a'); alter type m owner to order_lookup_owner`);
    copy.add('0100_extend', `alter type m add value 'b';`);
    copy.add('0101_use', `select 'b'::m;`);
    const refusal = /^It cannot be told what callers would see: 0101_use.sql/;
    await expect(planned()).rejects.toThrow(refusal);
  });
});

describe('a plan that is long', () => {
  it('has totals and the first lines, fits into a comment, and has the rest with --full and --json', async () => {
    const value = (n: string) => `('T', 'CODE-' || ${n}, rpad('', 1000, 'x'))`;
    const moments = `insert into code_list_value (code_list, value, valid_from)
      select 'orderType', 'V' || n, now() + n * interval '1 hour' from generate_series(1, 1000) n;`;
    copy.add(
      '0100_many',
      `insert into communication_code select t.* from generate_series(1, 4000) n, lateral (values ${value('n')}) t;
       ${moments}`,
      `delete from communication_code; delete from code_list_value where value like 'V%';`,
    );
    const { stdout, status } = await plan();
    expect(status).toBe(0);
    expect(stdout.length).toBeLessThan(20_000);
    expect(stdout).toContain('\nCallers see 6000 changes: 6000 added.\n');
    expect(stdout).toContain('\n    … and 3990 more (--full)\n');
    const full = (await plan('--full')).stdout;
    expect(full.split('\n').filter((line) => line.startsWith('    + '))).toHaveLength(6000);
    expect(full).not.toContain('…');
    const json = JSON.parse((await plan('--json')).stdout) as { changes: unknown[] };
    expect(json.changes).toHaveLength(6000);
    expect(json.changes[0]).toEqual({
      kind: 'added',
      what: 'value',
      area: 'order-update',
      property: 'orderType',
      name: 'V1',
      at: expect.stringMatching(/Z$/),
    });
  });

  it('is short also where each of 800 lists, files and clients changes', async () => {
    const clients = Array.from({ length: 800 }, (_, index) => `Client ${index} ${'x'.repeat(100)}`);
    for (const client of clients)
      await database.query(
        `insert into api_key (client, key_hash) values ($1, sha256(convert_to($1, 'UTF8')))`,
        [client],
      );
    copy.add(
      '0100_many',
      `insert into code_list select 'list' || n from generate_series(1, 800) n;
       insert into code_list_value (code_list, value)
         select 'list' || n, repeat('é', 256) from generate_series(1, 800) n;
       insert into area_property (area, property, code_list) select area, 'list' || n, 'list' || n
         from generate_series(1, 800) n, unnest(array['order-update', 'order-capture-v2']) area;
       delete from api_key where client like 'Client %';`,
      'select 1;',
    );
    const { stdout, status } = await plan();
    expect(status).toBe(2);
    expect(stdout.length).toBeLessThan(65_536);
    expect(stdout).toMatch(/… and \d+ changes of other lists \(--full\)/);
    await database.query(`delete from api_key where client like 'Client %'`);
  });
});

describe('migrate plan warns of', () => {
  it.each([
    [
      'case',
      `('Typ', 'standard', 'x'), ('Typ', 'STANDARD', 'y')`,
      /code type "Typ": "STANDARD" differs from "standard" only by case/,
    ],
    [
      'white space',
      `('Typ', 'Left Message', 'x'), ('Typ', 'LeftMessage', 'y')`,
      /"Left Message" differs from "LeftMessage" only by/,
    ],
    [
      'Unicode form',
      `('Typ', U&'caf\\00e9', 'x'), ('Typ', U&'cafe\\0301', 'y')`,
      /only by case, white space or Unicode form/,
    ],
    ['types alike', `('Typ', 'a', 'x'), ('TYP', 'a', 'y')`, /code types: "TYP" differs from "Typ"/],
    [
      'numbers that a spreadsheet rewrote',
      `('Typ', '1.23457E+17', 'x')`,
      /code type "Typ": "1\.23457E\+17" looks like a number/,
    ],
  ])('%s', async (_what, rows, warning) => {
    copy.add(
      '0100_x',
      `insert into communication_code (code_type, code, description) values ${rows};`,
      'delete from communication_code;',
    );
    const { text, status } = await planned();
    expect(text).toMatch(warning);
    expect(text).toContain('\nIs this meant?\n');
    expect(status).toBe(0);
  });

  it('what nobody sees, which it shows', async () => {
    copy.add(
      '0100_x',
      `alter table communication_code drop constraint communication_code_has_no_invisible_characters;
       insert into communication_code values ('Typ', U&'LEFT\\200b', 'x');`,
      'select 1;',
    );
    const { text } = await planned();
    expect(text).toContain(String.raw`+ codeType "Typ", code "LEFT\u200b": "x" added`);
    expect(text).toContain(
      String.raw`code type "Typ": "LEFT\u200b" holds what nobody sees: U+200B`,
    );
  });
});

describe('the way back of each pending file is tried', () => {
  it('also of those before one whose way back fails', async () => {
    const add = (list: string) => `insert into code_list (name) values ('${list}');`;
    const value = (list: string) =>
      `insert into code_list_value (code_list, value) values ('orderType', '${list}');`;
    copy.add('0100_good', add('good'), `delete from code_list where name = 'good';`);
    copy.add('0101_forgets', value('Forgotten'), 'select 1;');
    copy.add(
      '0102_hides',
      value('Hiding'),
      `delete from code_list_value where value in ('Hiding', 'Forgotten');`,
    );
    copy.add('0103_fails', add('fails'), 'select nope;');
    const { text } = await planned();
    expect(text.match(/^The way back .*$/gm)).toEqual([
      'The way back of 0101_forgets does not restore the codes.',
      'The way back of 0102_hides does not restore the codes.',
      'The way back of 0103_fails fails: 0103_fails.sql, line 4: column "nope" does not exist.',
    ]);
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
    const { status, text } = await planned();
    expect({ status, text }).toEqual({ status: 2, text: expect.stringContaining(said) });
    expect(text).toContain(UNSAFE);
    expect(await contents()).toEqual(before);
  });
});

describe('a plan beside others', () => {
  it('contains nothing that a writer changes', async () => {
    const stubborn = new ProgramCopy();
    edit(join(stubborn.folder, REHEARSAL), /500 ?ms/g, '1 h'); // on a slow machine it would give way each time
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
      `create role ${username} login password '${PASSWORD}' in role order_lookup_owner;
       alter role ${username} set role = 'order_lookup_owner'`,
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
        /^The rehearsal came to no end, and nothing was changed: another session had to wait\. .*\n$/,
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
      stderr: expect.stringMatching(
        /^The rehearsal came to no end, and nothing was changed: .*\n$/,
      ),
    });
    await holder.query('rollback');
  });

  it.each(['killed', 'cut from its server', 'ended by its server'])(
    'that is %s leaves no lock and ends',
    async (how) => {
      const proxy = await Proxy.before(database.urlOf('order_lookup_owner'));
      copy.environment = { DATABASE_URL: proxy.url };
      copy.add('0100_slow', 'lock table communication_code; select pg_sleep(3600);');
      const sessions = `from pg_stat_activity where datname = current_database()
        and application_name = 'order-lookup-administration'`;
      const isAsleep = `select ${sessions} and wait_event = 'PgSleep'`;
      const { child, ended } = copy.start('migrate', 'plan');
      await until(async () => (await database.query(isAsleep)).length > 0);
      if (how === 'killed') child.kill('SIGKILL');
      else if (how === 'cut from its server') proxy.cut();
      else await database.query(`select pg_terminate_backend(pid) ${sessions}`);
      const { stderr } = await ended;
      expect(stderr).toMatch(
        how === 'killed' ? /^$/ : /^The rehearsal came to no end, and nothing was changed: .*\n$/,
      );
      await until(async () => (await database.query(`select ${sessions}`)).length === 0);
      proxy.close();
    },
  );
});
