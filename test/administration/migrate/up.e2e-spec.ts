import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import { run } from '../../support/program.js';
import { NAMES, ProgramCopy } from '../../support/program-copy.js';
import { until } from '../../support/service.js';

let copy: ProgramCopy;
let database: TestDatabase;

beforeAll(() => {
  copy = new ProgramCopy();
});
afterAll(() => copy.remove());
beforeEach(() => copy.reset());
afterEach(() => database?.drop());

const use = async (migrated = true): Promise<void> => {
  database = await createDatabase({ migrated });
  copy.environment = { DATABASE_URL: database.url };
};
const migrate = (...words: string[]) => copy.migrate(...words);
const add: ProgramCopy['add'] = (...parts) => copy.add(...parts);
const applied = async (): Promise<string[]> =>
  (
    await database.query<{ name: string }>('select name from public.applied_migration order by id')
  ).map(({ name }) => name);

describe('migrate up', () => {
  it('applies all from empty, nothing the second time, and goes down and up again', async () => {
    await use(false);
    expect(await migrate('up')).toEqual({
      status: 0,
      stdout: `${NAMES.map((name) => `applied  ${name}`).join('\n')}\n`,
      stderr: '',
    });
    expect(await migrate('up')).toEqual({ status: 0, stdout: 'Nothing to do.\n', stderr: '' });
    expect(await migrate('down', String(NAMES.length), '--yes')).toMatchObject({
      status: 0,
      stderr: '',
    });
    expect(
      await database.query(
        `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') and relname <> 'applied_migration'`,
      ),
    ).toEqual([]);
    expect(
      await database.query(
        `select proname from pg_proc where pronamespace = 'public'::regnamespace`,
      ),
    ).toEqual([]);
    expect((await migrate('status')).stdout).toBe(
      `${NAMES.map((name) => `pending  ${name}`).join('\n')}\n`,
    );
    expect(await migrate('up')).toMatchObject({ status: 0 });
    expect(await applied()).toEqual(NAMES);
  });

  it('applies each migration once when three runs start at once', async () => {
    await use(false);
    const outcomes = await Promise.all([migrate('up'), migrate('up'), migrate('up')]);
    expect(outcomes.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
      Array(3).fill({ status: 0, stderr: '' }),
    );
    expect(await applied()).toEqual(NAMES);
  });

  it('leaves nothing half done and no lock when it is killed', async () => {
    await use();
    add('0100_take_long', `create table half_done (x int);\nselect pg_sleep(60);`);
    const { child, ended } = copy.start('migrate', 'up');
    await until(
      async () =>
        (
          await database.query(
            `select from pg_stat_activity
              where datname = current_database() and query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()`,
          )
        ).length > 0,
    );
    child.kill('SIGKILL');
    await ended;
    add('0100_take_long', 'create table whole (x int);');
    expect(await migrate('up')).toMatchObject({ status: 0 });
    expect(
      await database.query(
        `select to_regclass('half_done') as half, to_regclass('whole') is not null as whole`,
      ),
    ).toEqual([{ half: null, whole: true }]);
  });

  it('names file, line, statement and what PostgreSQL said when one fails half-way', async () => {
    await use();
    add(
      '0100_fail',
      `insert into code_list (name) values ('good');\n-- a reason\ninsert into code_list_value (code_list, value)\nvalues ('good', ' padded');\nselect 1;`,
    );
    const { status, stderr, stdout } = await migrate('up');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^0100_fail\.sql, line 4: .*"code_list_value_is_clean_text_of_256_characters"\n/,
    );
    expect(stderr).toContain(
      `  insert into code_list_value (code_list, value)\n  values ('good', ' padded')\n`,
    );
    expect(stderr).not.toContain('at ');
    expect(await database.query(`select from code_list where name = 'good'`)).toEqual([]);
    expect(await applied()).toEqual(NAMES);
  });

  it.each(['commit', 'begin', 'rollback'])(
    'refuses a migration with a %s of its own',
    async (word) => {
      await use();
      add('0100_tear', `insert into code_list (name) values ('torn');\n${word};`);
      expect(await migrate('up')).toEqual({
        status: 1,
        stdout: '',
        stderr: `0100_tear.sql, line 3: "${word}" begins or ends a transaction, and each migration runs in one already. Take the statement out.\n`,
      });
    },
  );

  it('creates the next migration from a template', async () => {
    await use();
    expect((await migrate('new', 'add_order_type')).stdout).toMatch(
      /^created .*\/\d{4}_add_order_type\.sql\n$/,
    );
    expect(await migrate('new', 'Bad-Name')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('"Bad-Name" cannot be part of a file name'),
    });
  });
});

describe('a run that fails', () => {
  it('says what it applied and what not', async () => {
    await use();
    add('0100_good', `insert into code_list (name) values ('good');`);
    add('0101_bad', 'select 1 / 0;');
    add('0102_never', 'select 1;');
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        '0101_bad.sql, line 2: division by zero\n\n  select 1 / 0\n\n' +
        'In this run applied: 0100_good. Not applied: 0101_bad, 0102_never. Correct the file and run the command again.\n',
    });
    expect(await applied()).toEqual([...NAMES, '0100_good']);
  });

  it('says so when a deferred constraint fails at the commit', async () => {
    await use();
    add(
      '0100_defer',
      `update code_list_value set position = 1 where code_list = 'orderType' and value = 'Return';`,
    );
    const { status, stderr } = await migrate('up');
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^0100_defer\.sql, at the end of its transaction: .*code_list_value_position_is_unique_in_its_list"\n {2}Key /,
    );
    expect(await applied()).toEqual(NAMES);
  });
});

describe('each migration has a session of its own', () => {
  const SPOIL = `set search_path = nowhere; set timezone = 'Asia/Tokyo'; set datestyle = 'German'; set standard_conforming_strings = off;
    set lock_timeout = 1; set role order_lookup_service; set default_transaction_read_only = on;`;
  const EXPECT = `do $$ begin
    if current_setting('search_path') <> 'public, pg_temp' or current_setting('TimeZone') <> 'UTC' or current_user <> session_user
      or current_setting('DateStyle') <> 'ISO, MDY' or current_setting('standard_conforming_strings') <> 'on' then
      raise exception 'settings of another migration are left';
    end if;
  end $$;`;

  it('so that settings of one do not reach the next, when applied, planned or undone', async () => {
    await use();
    add('0100_spoil', SPOIL, SPOIL);
    add('0101_look', EXPECT, EXPECT);
    add('0102_spoil', SPOIL, SPOIL);
    for (const words of [['plan'], ['up'], ['down', '3']])
      expect(await migrate(...words)).toMatchObject({ status: 0, stderr: '' });
    expect(await applied()).toEqual(NAMES);
  });

  it('whatever the database is set to', async () => {
    await use(false);
    for (const setting of [
      `timezone = 'Asia/Tokyo'`,
      `datestyle = 'German'`,
      `search_path = 'nowhere'`,
      `default_transaction_isolation = 'serializable'`,
      'default_transaction_read_only = on',
      `bytea_output = 'escape'`,
      'statement_timeout = 1000',
    ])
      await database.query(`alter database ${database.name} set ${setting}`);
    add('0100_look', EXPECT, EXPECT);
    for (const words of [['plan'], ['up'], ['status'], ['down'], ['up'], ['plan']])
      expect(await migrate(...words)).toMatchObject({ status: 0, stderr: '' });
    expect(await applied()).toEqual([...NAMES, '0100_look']);
  });
});

describe('files of migrations that were applied', () => {
  const both = async (state: string, said: string): Promise<void> => {
    const status = await migrate('status');
    expect({ status: status.status, stderr: status.stderr }).toEqual({ status: 1, stderr: '' });
    expect(status.stdout).toContain(`${state.padEnd(7)}  0100_add\n`);
    expect(status.stdout).toContain(said);
    const up = await migrate('up');
    expect({ ...up, stderr: '' }).toEqual({ status: 1, stdout: '', stderr: '' });
    expect(up.stderr).toContain(said);
  };

  it('are reported if they were changed or are missing; line ends do not matter', async () => {
    await use();
    add('0100_add', 'select 1;');
    expect(await migrate('up')).toMatchObject({ status: 0 });
    copy.write('0100_add', '-- Up Migration\r\nselect 1;\r\n-- Down Migration\r\n\r\n');
    expect(await migrate('up')).toEqual({ status: 0, stdout: 'Nothing to do.\n', stderr: '' });
    add('0100_add', 'select 2;');
    await both('changed', '0100_add.sql was changed after it was applied. Restore it, ');
    rmSync(join(copy.migrations, '0100_add.sql'));
    await both('gone', '0100_add.sql was applied, and its file is gone. Restore it, ');
  });

  it('name one whose number is too low', async () => {
    await use();
    add('0101_second', 'select 1;');
    expect(await migrate('up')).toMatchObject({ status: 0 });
    add('0100_first', 'select 1;');
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        '0100_first.sql is pending, and later ones are applied. Give it the next free number: migrate renumber --base main\n',
    });
  });
});

describe('a file that is not a migration', () => {
  it.each([
    ['-- Up migration\nselect 1;', /^0100_x\.sql, line 1: "-- Up migration" looks like a marker/],
    ['select 1;', /^0100_x\.sql has no line "-- Up Migration"/],
    ['-- Up Migration\n-- nothing', /^0100_x\.sql has no statement below "-- Up Migration"/],
    ['-- Up Migration\nselect 1;\n-- Down Migration\n\n/**/ end;', /^0100_x\.sql, line 5: "end" /],
    [
      Buffer.from([...Buffer.from('-- Up Migration\nselect '), 0xff]),
      /^0100_x\.sql is not in UTF-8/,
    ],
  ])('is refused before anything runs: %j', async (text, said) => {
    await use();
    add('0099_before', 'select 1;');
    writeFileSync(join(copy.migrations, '0100_x.sql'), text);
    for (const command of ['up', 'plan', 'status', 'down'])
      expect(await migrate(command)).toEqual({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(said),
      });
    expect(await applied()).toEqual(NAMES);
  });
});

describe('every fault of the surroundings', () => {
  it.each([
    [{}, /^DATABASE_URL is not set: .*\n$/],
    [
      { DATABASE_URL: 'mysql://x' },
      /^DATABASE_URL is not a connection string of PostgreSQL: .*\n$/,
    ],
    [
      { DATABASE_URL: 'postgres://nobody:wrong@127.0.0.1:1/x' },
      /^The database x at 127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1\. Check .*\n$/,
    ],
    [
      { DATABASE_URL: `${process.env['TEST_POSTGRES_URL']?.replace(/postgres$/, 'absent')}` },
      /^The database absent at .* cannot be used: database "absent" does not exist\. .*\n$/,
    ],
    [
      { DATABASE_URL: `${process.env['TEST_POSTGRES_URL']?.replace('tests-only', 'wrong')}` },
      /^The database postgres at .* cannot be used: password authentication failed for user "postgres"\. .*\n$/,
    ],
  ])('is one line and status 1: %j', async (environment, line) => {
    expect(await run('migrate.js', ['up'], environment)).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(line),
    });
  });

  it.each([['sideways'], ['up', 'extra'], ['--no-such-flag'], ['down', 'x'], ['new']])(
    'is told with the usage or the remedy: %s',
    async (...words) => {
      const { status, stdout, stderr } = await run('migrate.js', words, {});
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      expect(stderr).not.toMatch(/^ {4}at /m);
    },
  );
});
