import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import { run } from '../../support/program.js';
import { NAMES, ProgramCopy } from '../../support/program-copy.js';
import { until } from '../../support/service.js';

let copy: ProgramCopy;
let database: TestDatabase;

beforeAll(async () => {
  copy = new ProgramCopy();
  database = await createDatabase();
  copy.environment = { DATABASE_URL: database.url };
});
afterEach(() => {
  copy.reset();
  copy.environment = { DATABASE_URL: database.url };
});
afterAll(async () => {
  copy.remove();
  await database.drop();
});

const migrate = (...words: string[]) => copy.migrate(...words);
const GOOD = { status: 0, stderr: '' };
const all = async (...commands: string[]): Promise<void> => {
  for (const command of commands) expect(await migrate(...command.split(' '))).toMatchObject(GOOD);
};
const applied = async (where = database): Promise<string[]> =>
  (await where.query<{ name: string }>('select name from pgmigrations order by id')).map(
    ({ name }) => name,
  );
/** A file looks whether settings of others are left. */
const LOOK = `do $$ begin
  if current_setting('search_path') <> 'public, pg_temp' or current_setting('TimeZone') <> 'UTC' or current_user <> session_user
    or current_setting('DateStyle') <> 'ISO, MDY' or current_setting('standard_conforming_strings') <> 'on' then
    raise exception 'settings of others are left';
  end if;
end $$;`;

describe('an empty database', () => {
  it('gets each migration once from three runs at once, whatever it is set to; all of it goes down and up again', async () => {
    const empty = await createDatabase({ migrated: false });
    for (const setting of [
      `timezone = 'Asia/Tokyo'`,
      `datestyle = 'German'`,
      `search_path = 'nowhere'`,
      `default_transaction_isolation = 'serializable'`,
      'default_transaction_read_only = on',
      `bytea_output = 'escape'`,
      'statement_timeout = 2000',
    ])
      await empty.query(`alter database ${empty.name} set ${setting}`);
    copy.environment = { DATABASE_URL: empty.url };
    copy.add('0100_look', LOOK, LOOK);
    const names = [...NAMES, '0100_look'];
    const runs = await Promise.all([migrate('up'), migrate('up'), migrate('up')]);
    const lines = runs.flatMap((one) => (expect(one).toMatchObject(GOOD), one.stdout.split('\n')));
    expect(lines.filter((line) => line.startsWith('applied')).sort()).toEqual(
      names.map((name) => `applied  ${name}`),
    );
    expect(await applied(empty)).toEqual(names);
    expect(await migrate('up')).toEqual({ ...GOOD, stdout: 'Nothing to do.\n' });
    await all(`down ${names.length} --yes`);
    expect(
      await empty.query(
        `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') and relname <> 'pgmigrations'
          union all select proname from pg_proc where pronamespace = 'public'::regnamespace`,
      ),
    ).toEqual([]);
    expect((await migrate('status')).stdout).toBe(
      names.map((name) => `pending  ${name}\n`).join(''),
    );
    await all('up');
    expect(await applied(empty)).toEqual(names);
    await empty.drop();
  });
});

describe('migrate up', () => {
  it('leaves nothing half done and no lock when it is killed', async () => {
    copy.add('0100_take_long', `create table half_done (x int);\nselect pg_sleep(60);`);
    const { child, ended } = copy.start('migrate', 'up');
    const sleeping = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
    await until(async () => (await database.query(sleeping)).length > 0);
    child.kill('SIGKILL');
    await ended;
    copy.add('0100_take_long', 'create table whole (x int);', 'drop table whole;');
    await all('up');
    expect(
      await database.query(
        `select to_regclass('half_done') as half, to_regclass('whole') is not null as whole`,
      ),
    ).toEqual([{ half: null, whole: true }]);
    await all('down --yes');
  });

  const row = `('A', 'B', 'it''s a description of some length, so that the file is large'),\n`;
  it.each<[string, string, RegExp]>([
    [
      'a statement that PostgreSQL refuses',
      `insert into code_list (name) values ('good');\ninsert into code_list_value (code_list, value) values ('good', ' padded');`,
      /^0100_x\.sql: .*"code_list_value_is_clean_text_of_256_characters"\n {2}Failing row .*\n$/,
    ],
    [
      'a deferred constraint',
      `update code_list_value set position = 1 where value = 'Return';`,
      /^0100_x\.sql: .*"code_list_value_position_is_unique_in_its_list"\n {2}Key .*\n$/,
    ],
    [
      'an error in the text',
      `select 'ä😀';\ninsert into code_lists values ('a');`,
      /^0100_x\.sql, line 3: relation "code_lists" does not exist\n$/,
    ],
    [
      'a missing quote after E',
      `select E'it;\n${`insert into code_list values ('a');\n`.repeat(20_000)}`,
      /^0100_x\.sql, line \d+: (unterminated quoted string|syntax error)[^]{0,500}$/,
    ],
    [
      '10 MB of rows, the last of which is wrong',
      `insert into communication_code (code_type, code, description) values\n${row.repeat(140_000)}('A', ' ', 'x');`,
      /^0100_x\.sql: [^]{0,1500}$/,
    ],
    [
      'a COMMIT that the check of the files does not see',
      `delete from code_list_value; select E'\\''; commit; select E'\\'';`,
      /^0100_x\.sql: .*a migration must not end its transaction/,
    ],
    [
      'a ROLLBACK and another transaction',
      `delete from code_list_value; select E'\\''; rollback; begin; delete from code_list; commit; select E'\\'';`,
      /^0100_x\.sql: .*read-only transaction/,
    ],
    [
      'a ROLLBACK',
      `delete from code_list_value; select E'\\''; rollback; select E'\\'';`,
      /^0100_x\.sql: .*the transaction, which a migration must not end/,
    ],
    ['nothing but a comment', '-- nothing', /^0100_x\.sql has no statement on the way up/],
  ])('and plan change nothing because of %s', async (_name, up, said) => {
    copy.add('0100_x', up);
    for (const command of ['plan', 'up'])
      expect(await migrate(command)).toEqual({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(said),
      });
    expect(await applied()).toEqual(NAMES);
    expect(await database.query('select from code_list_value limit 1')).toHaveLength(1);
  });

  it('says what it did before it failed; files have sessions of their own and unusual forms; down undoes them', async () => {
    const spoil = `set search_path = nowhere; set timezone = 'Asia/Tokyo'; set datestyle = 'German'; set standard_conforming_strings = off;
      set lock_timeout = 1; set role order_lookup_service; set default_transaction_read_only = on;`;
    copy.add('0100_spoil', spoil, spoil);
    copy.add('0101_look', LOOK, LOOK);
    copy.write(
      '0102_windows',
      '\ufeff-- Up Migration\r\ncreate table x ();\r\n-- Down Migration\r\ndrop table x',
    );
    copy.add(
      '0103_save',
      'set constraints all immediate; savepoint a; create table y (); rollback to a; create table y (); set role pg_monitor;',
      'drop table y;',
    );
    await all('plan');
    copy.add('0104_fail', 'select 1 / 0;');
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        '0104_fail.sql: division by zero\nDone in this run: 0100_spoil, 0101_look, 0102_windows, 0103_save.\n',
    });
    rmSync(join(copy.migrations, '0104_fail.sql'));
    await all('down 4 --yes');
    expect(await applied()).toEqual(NAMES);
  });

  it('does nothing where a file is in another encoding', async () => {
    copy.add('0099_before', 'select 1;');
    writeFileSync(
      join(copy.migrations, '0100_x.sql'),
      Buffer.from([...Buffer.from('-- Up Migration\nselect '), 0xff]),
    );
    for (const command of ['check', 'up'])
      expect(await migrate(command)).toEqual({
        status: 1,
        stdout: '',
        stderr: '0100_x.sql is not in UTF-8. Save it in that encoding.\n',
      });
    expect(await applied()).toEqual(NAMES);
  });

  it.each([
    [true, 'It was committed.'],
    [false, 'It was not committed: nothing of it remains.'],
  ])(
    'says what became of a COMMIT whose connection is lost, arrived: %s',
    async (arrives, said) => {
      copy.add(
        '0100_add',
        `insert into code_list (name) values ('added');`,
        `delete from code_list where name = 'added';`,
      );
      const lossy = await loseCommit(database.url, arrives);
      copy.environment = { DATABASE_URL: lossy.url };
      const { status, stderr } = await migrate('up');
      lossy.close();
      expect(stderr).toContain(said);
      expect({ status, applied: await applied() }).toEqual(
        arrives ? { status: 0, applied: [...NAMES, '0100_add'] } : { status: 1, applied: NAMES },
      );
      copy.environment = { DATABASE_URL: database.url };
      if (arrives) await all('down --yes');
    },
  );
});

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

describe('migrate down', () => {
  it('shows what it undoes and wants --yes; it asks nobody on the database of the demo, and undoes nothing without a way back', async () => {
    copy.add('0100_stay', 'select 1;');
    copy.add(
      '0101_add',
      `insert into code_list_value (code_list, value) values ('orderType', 'Transfer');`,
      `delete from code_list_value where value = 'Transfer';`,
    );
    await all('up');
    expect(await migrate('down')).toEqual({
      status: 1,
      stdout: expect.stringMatching(
        /^To undo in the database test_\w+ at 127\.0\.0\.1:\d+: 0101_add\n[^]*! - value orderType: Transfer removed/,
      ),
      stderr: 'Nothing was undone. Where nobody can be asked, add --yes\n',
    });
    mkdirSync(join(copy.folder, '.data'));
    writeFileSync(
      join(copy.folder, '.data', 'demo.env'),
      `export DATABASE_URL='${database.url}'\n`,
    );
    expect((await migrate('down')).stdout).toMatch(/\nundone {2}0101_add\n$/);
    expect(await migrate('down', '--yes')).toMatchObject({
      status: 1,
      stderr: '0100_stay.sql has no statement on the way down.\n',
    });
    expect(await applied()).toEqual([...NAMES, '0100_stay']);
  });
});

describe('files of migrations that were applied', () => {
  it('are reported where they are gone, with status 1, and those whose number is too low', async () => {
    const said = '0100_stay.sql was applied, and its file is gone. Restore it, ';
    const { status, stdout, stderr } = await migrate('status');
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(stdout).toContain('gone     0100_stay\n');
    expect(stdout).toContain(said);
    for (const command of ['up', 'plan', 'down'])
      expect(await migrate(command)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(said),
      });
    copy.add('0100_stay', 'select 1;');
    copy.add('0099_first', 'select 1;');
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        '0099_first.sql is pending, and later ones are applied. Give it the next free number: node dist/migrate.js renumber --base main\n',
    });
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
