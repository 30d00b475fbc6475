import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { once } from 'node:events';
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
    await database.query<{ name: string }>(
      'select name from public.pgmigrations order by run_on, id',
    )
  ).map(({ name }) => name);

/** A way to the database that is cut at the first COMMIT: before it arrives, or before its answer does. */
async function loseCommit(url: string, arrives: boolean): Promise<{ url: string; close(): void }> {
  const { hostname, port } = new URL(url);
  let isCut = false;
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    for (const end of [socket, upstream]) end.on('error', () => undefined);
    upstream.on('data', (bytes) => socket.write(bytes)).on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
    socket.on('data', (bytes) => {
      if (isCut || !bytes.includes('commit\0')) return upstream.write(bytes);
      isCut = true;
      if (!arrives) return upstream.destroy();
      upstream.removeAllListeners('data').once('data', () => upstream.destroy());
      return upstream.write(bytes);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = Object.assign(new URL(url), { port: (server.address() as AddressInfo).port });
  return { url: address.href, close: () => server.close() };
}

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
        `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') and relname <> 'pgmigrations'
          union all select proname from pg_proc where pronamespace = 'public'::regnamespace`,
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
    const sleeping = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    await until(async () => (await database.query(sleeping)).length > 0);
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

  it('names file, statement and what PostgreSQL said when one fails half-way', async () => {
    await use();
    add(
      '0100_fail',
      `insert into code_list (name) values ('good');\n-- a reason\ninsert into code_list_value (code_list, value)\nvalues ('good', ' padded');\nselect 1;`,
    );
    const { status, stderr, stdout } = await migrate('up');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^0100_fail\.sql, statement 2 of the way up: .*"code_list_value_is_clean_text_of_256_characters"\n/,
    );
    expect(await database.query(`select from code_list where name = 'good'`)).toEqual([]);
    expect(await applied()).toEqual(NAMES);
  });

  it.each([
    ['commit', /must not end its transaction/],
    ['rollback; begin; delete from code_list; commit', /read-only transaction/],
    ['rollback', /^0100_tear\.sql ended its transaction/],
  ])(
    'changes nothing where the check of the files misses that a file ends its transaction: %s',
    async (words, said) => {
      await use();
      add('0100_tear', `delete from code_list_value; select E'\\''; ${words}; select E'\\'';`);
      expect(await migrate('check')).toMatchObject({
        stderr: expect.stringMatching(/^last-migration\.txt/),
      });
      for (const command of ['plan', 'up'])
        expect(await migrate(command)).toMatchObject({
          status: 1,
          stderr: expect.stringMatching(said),
        });
      expect(await applied()).toEqual(NAMES);
      expect(await database.query('select from code_list_value limit 1')).toHaveLength(1);
    },
  );

  it('undoes with --yes what it shows, and asks nobody on the database of the demo', async () => {
    await use();
    add(
      '0100_add',
      `insert into code_list_value (code_list, value) values ('orderType', 'Transfer');`,
      `delete from code_list_value where value = 'Transfer';`,
    );
    expect(await migrate('up')).toMatchObject({ status: 0 });
    expect(await migrate('down')).toEqual({
      status: 1,
      stdout: expect.stringMatching(
        /^To undo in the database test_\w+ at 127\.0\.0\.1:\d+: 0100_add\n[^]*! - value orderType: Transfer removed/,
      ),
      stderr: 'Nothing was undone, since nobody can be asked here. To undo it, add --yes\n',
    });
    expect(await migrate('down', '--yes')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/\nundone {2}0100_add\n$/),
    });
    expect(await migrate('up')).toMatchObject({ status: 0 });
    mkdirSync(join(copy.folder, '.data'));
    writeFileSync(
      join(copy.folder, '.data', 'demo.env'),
      `export DATABASE_URL='${database.url}'\n`,
    );
    expect(await migrate('down')).toMatchObject({ status: 0 });
    expect(await applied()).toEqual(NAMES);
  });

  it.each([
    ['committed', 'It was committed.'],
    ['not committed', 'It was not committed: nothing of it remains.'],
  ])(
    'says so when the connection is lost while COMMIT is on its way, and it was %s',
    async (outcome, said) => {
      await use();
      add('0100_add', `insert into code_list (name) values ('added');`);
      const lossy = await loseCommit(database.url, outcome === 'committed');
      copy.environment = { DATABASE_URL: lossy.url };
      const { status, stderr } = await migrate('up');
      lossy.close();
      expect(stderr).toContain(said);
      expect({ status, applied: await applied() }).toEqual(
        outcome === 'committed'
          ? { status: 0, applied: [...NAMES, '0100_add'] }
          : { status: 1, applied: NAMES },
      );
    },
  );
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
        '0101_bad.sql, statement 1 of the way up: division by zero\n' +
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
    for (const words of [['plan'], ['up'], ['down', '3', '--yes']])
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
    for (const words of [['up'], ['status'], ['down', '--yes'], ['up'], ['plan']])
      expect(await migrate(...words)).toMatchObject({ status: 0, stderr: '' });
    expect(await applied()).toEqual([...NAMES, '0100_look']);
  });
});

describe('files of migrations that were applied', () => {
  it('are reported if they are missing, with status 1', async () => {
    await use();
    add('0100_add', 'select 1;');
    expect(await migrate('up')).toMatchObject({ status: 0 });
    rmSync(join(copy.migrations, '0100_add.sql'));
    const said = '0100_add.sql was applied, and its file is gone. Restore it, ';
    const { status, stdout, stderr } = await migrate('status');
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(stdout).toContain('gone     0100_add\n');
    expect(stdout).toContain(said);
    for (const command of ['up', 'plan', 'down'])
      expect(await migrate(command)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(said),
      });
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
        '0100_first.sql is pending, and later ones are applied. Give it the next free number: node dist/migrate.js renumber --base main\n',
    });
  });
});

describe('an unusual file', () => {
  it.each([
    [
      'CRLF, a byte order mark and no last newline',
      '\ufeff-- Up Migration\r\ncreate table x ();\r\n-- Down Migration\r\ndrop table x',
    ],
    [
      'settings and savepoints of its own',
      `-- Up Migration\nset constraints all immediate; savepoint a; create table x (); rollback to a; create table x (); set role pg_monitor;\n-- Down Migration\ndrop table x;`,
    ],
  ])('with %s goes up and back', async (_name, text) => {
    await use();
    copy.write('0100_x', text);
    for (const words of [['plan'], ['up'], ['down', '--yes']])
      expect(await migrate(...words)).toMatchObject({ status: 0, stderr: '' });
    expect(await applied()).toEqual(NAMES);
  });

  it.each([
    [
      'a missing quote after E',
      `select E'it;\n${`insert into code_list values ('a');\n`.repeat(20_000)}`,
      /^0100_x\.sql, line \d+: (unterminated quoted string|syntax error)/,
    ],
    [
      '50 MB of rows, the last of which is wrong',
      `insert into communication_code (code_type, code, description) values\n${`('A', 'B', 'it''s a description of some length, so that the file is large'),\n`.repeat(700_000)}('A', ' ', 'x');`,
      /^0100_x\.sql, statement 1 of the way up: /,
    ],
  ])('with %s ends in a short message', async (_name, text, said) => {
    await use();
    add('0100_x', text);
    for (const command of ['plan', 'up']) {
      const { status, stdout, stderr } = await migrate(command);
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
      expect(stderr).toMatch(said);
      expect(stderr.length).toBeLessThan(4_000);
    }
    expect(await applied()).toEqual(NAMES);
  });

  it('in another encoding is refused before anything runs', async () => {
    await use();
    add('0099_before', 'select 1;');
    writeFileSync(
      join(copy.migrations, '0100_x.sql'),
      Buffer.from([...Buffer.from('-- Up Migration\nselect '), 0xff]),
    );
    for (const command of ['check', 'up', 'plan', 'status', 'down'])
      expect(await migrate(command)).toEqual({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/^0100_x\.sql is not in UTF-8/),
      });
    expect(await applied()).toEqual(NAMES);
  });
});

describe('every fault of the surroundings', () => {
  it.each([
    [{}, /^DATABASE_URL is not set: .*\n$/],
    [
      { DATABASE_URL: 'postgres://nobody:wrong@127.0.0.1:1/x' },
      /^The database x at 127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED 127\.0\.0\.1:1\. Check .*\n$/,
    ],
    [
      { DATABASE_URL: `${process.env['TEST_POSTGRES_URL']?.replace(/postgres$/, 'absent')}` },
      /^The database absent at .* cannot be used: database "absent" does not exist\. .*\n$/,
    ],
  ])('is one line and status 1: %j', async (environment, line) => {
    expect(await run('migrate.js', ['up'], environment)).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(line),
    });
  });
});
