import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { PG_MIGRATE_LOCK_ID } from 'node-pg-migrate';
import type * as Runs from '../../../src/administration/migrate/run-migrations.js';
import { PASSWORD, type TestDatabase, createDatabase, queryAt } from '../../support/database.js';
import { runLocally } from '../../support/local-program.js';
import { type Outcome, endOf, readText } from '../../support/program.js';
import { MIGRATION_NAMES, useProgramCopy } from '../../support/project-copy.js';
import { until } from '../../support/until.js';

/** After each test the files and variables of `copy` are reset. The database keeps its content. */
const { copy, database } = await useProgramCopy();
const SUCCESS = { status: 0, stderr: '' };

function migrate(line: string): Promise<Outcome> {
  return copy.run('migrate', ...line.split(' '));
}

async function readApplied(where = database): Promise<unknown[]> {
  const rows = await where.query('select name from public.pgmigrations order by id');
  return rows.map(({ name }) => name as unknown);
}

// If a test fails before it has undone its migrations, the next tests would fail, too
afterEach(async () => {
  if (String(await readApplied()) !== String(MIGRATION_NAMES)) await database.reset();
});

/** The rights that deploy/database/1-roles.sql grants: the owner may create tables, and the service may read them. */
const RIGHTS = `
  grant usage, create on schema public to order_lookup_owner;
  alter default privileges for role order_lookup_owner in schema public grant select on tables to order_lookup_service`;
/** SQL of a migration that fails if a setting of the database or of an earlier migration still applies. */
const FAIL_IF_SETTINGS_DIFFER = `do $$ begin
  if current_setting('search_path') <> 'public, pg_temp' or current_setting('TimeZone') <> 'UTC'
    or current_user <> 'order_lookup_owner'
    or current_setting('DateStyle') <> 'ISO, MDY' or current_setting('standard_conforming_strings') <> 'on'
    or current_setting('lock_timeout') = '1ms' or current_setting('bytea_output') <> 'hex'
    or current_setting('transaction_isolation') <> 'read committed'
    or current_setting('statement_timeout') = '2h' or current_setting('default_statistics_target') = '7' then
    raise exception 'settings of others are left';
  end if;
end $$;`;
const CHANGE_SETTINGS = `set search_path = nowhere; set timezone = 'Asia/Tokyo'; set datestyle = 'German';
  set standard_conforming_strings = off; set lock_timeout = 1; set default_statistics_target = 7;
  set role order_lookup_service; set default_transaction_read_only = on;`;

describe('migrate up', () => {
  it('applies each migration once if three runs begin together in a database with unusual settings', async () => {
    const empty = await createDatabase({ migrated: false });
    await empty.query(RIGHTS);
    for (const setting of [
      `timezone = 'Asia/Tokyo'`,
      `datestyle = 'German'`,
      `search_path = 'nowhere'`,
      `default_transaction_isolation = 'serializable'`,
      'default_transaction_read_only = on',
      `bytea_output = 'escape'`,
      `statement_timeout = '2h'`,
    ])
      await empty.query(`alter database ${empty.name} set ${setting}`);
    copy.environment = { DATABASE_URL: empty.url };
    copy.add('0100_look', FAIL_IF_SETTINGS_DIFFER, FAIL_IF_SETTINGS_DIFFER);
    const names = [...MIGRATION_NAMES, '0100_look'].toSorted();

    const holder = await empty.session();
    await holder.query(`begin; select pg_advisory_xact_lock(${PG_MIGRATE_LOCK_ID})`);
    // The copy's module is imported, because it applies the migrations of the copy, such as 0100_look
    const file = join(copy.folder, 'dist/administration/migrate/run-migrations.js');
    const { applyPending } = (await import(file)) as typeof Runs;
    const running = Promise.all([1, 2, 3].map(() => applyPending(copy.environment)));
    const waiting = `select from pg_locks join pg_database d on d.oid = database
      where datname = current_database() and locktype = 'advisory' and not granted`;
    await until(async () => (await empty.query(waiting)).length === 3, { during: running });
    await holder.query('commit');
    const appliedByEach = await running;
    expect(appliedByEach.filter(({ length }) => length > 0)).toEqual([names]);

    expect(await readApplied(empty)).toEqual(names);
    expect(await migrate(`down ${names.length} --yes`)).toMatchObject(SUCCESS);
    const left = `select relname as name from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') and relname <> 'pgmigrations'
      union all select proname from pg_proc where pronamespace = 'public'::regnamespace`;
    expect(await empty.query(left)).toEqual([]);
    const pending = names.map((name) => `pending  ${name}\n`).join('');
    expect(await migrate('status')).toEqual({ ...SUCCESS, stdout: pending });
    expect(await migrate('up')).toMatchObject(SUCCESS);
    expect(await readApplied(empty)).toEqual(names);
    await empty.drop();
  });

  it('leaves no half-applied migration and no lock if it is killed', async () => {
    copy.add('0100_take_long', `create table half_done (x int);\nselect pg_sleep(3600);`);
    const up = copy.start('migrate', 'up');
    const ours = `select from pg_stat_activity where datname = current_database()
      and application_name = 'order-lookup-administration'`;
    const sleeping = `${ours} and wait_event = 'PgSleep'`;
    await until(async () => (await database.query(sleeping)).length > 0, { during: up.ended });
    up.child.kill('SIGKILL');
    await endOf(up);
    await until(async () => (await database.query(ours)).length === 0);
    copy.add('0100_take_long', 'create table half_done ();', 'drop table half_done;');
    for (const line of ['up', 'down --yes']) expect(await migrate(line)).toMatchObject(SUCCESS);
  });

  it('says that nothing was changed if its session ends before the first migration', async () => {
    copy.environment = { DATABASE_URL: database.urlOf('order_lookup_owner') };
    const holder = await database.session();
    await holder.query(`begin; select pg_advisory_xact_lock(${PG_MIGRATE_LOCK_ID})`);
    const up = copy.start('migrate', 'up');
    const fromWaiting = `from pg_stat_activity where datname = current_database()
      and application_name = 'order-lookup-administration' and wait_event = 'advisory'`;
    await until(async () => (await database.query(`select ${fromWaiting}`)).length > 0, { during: up.ended });
    await database.query(`select pg_terminate_backend(pid) ${fromWaiting}`);
    expect(await endOf(up)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^The connection .* was lost: terminating .*\. Nothing was changed\. Run the .*\.\n$/,
      ),
    });
    await holder.query('commit');
  });

  it('applies files whose names have the same time in the order of status and plan', async () => {
    // node-pg-migrate compares the names without punctuation: addlistsmoresql comes before addlistssql
    const [first, second] = ['20301231000000_add_lists_more', '20301231000000_add_lists'] as const;
    copy.add(first, 'create table first ();', 'drop table first;');
    copy.add(second, 'alter table first add x int;', 'alter table first drop x;');
    expect(await migrate('status')).toMatchObject({ stdout: expect.stringMatching(`${first}\n.*${second}\n$`) });
    expect(await migrate('plan')).toMatchObject(SUCCESS);
    expect(await migrate('up')).toEqual({ ...SUCCESS, stdout: `applied  ${first}\napplied  ${second}\n` });
    expect(await migrate('down 2 --yes')).toMatchObject(SUCCESS);
  });

  it('applies all migrations before one that fails, and no migration changes the settings of a later one', async () => {
    copy.add('0100_spoil', CHANGE_SETTINGS, CHANGE_SETTINGS);
    copy.add('0101_look', FAIL_IF_SETTINGS_DIFFER, FAIL_IF_SETTINGS_DIFFER);
    copy.write('0102_windows', '\ufeff-- Up Migration\r\ncreate table x ();\r\n-- Down Migration\r\ndrop table x');
    // pg_monitor may not write pgmigrations, so `up` has to set the role again before node-pg-migrate writes the row
    const changeRole = 'set constraints all immediate; create table y (); set role pg_monitor;';
    copy.add('0103_change_role', changeRole, 'drop table y;');
    const good = ['0100_spoil', '0101_look', '0102_windows', '0103_change_role'];
    expect(await migrate('plan')).toMatchObject(SUCCESS);
    copy.add('0104_fail', 'select 1 / 0;');
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: good.map((name) => `applied  ${name}\n`).join(''),
      stderr: '0104_fail.sql: division by zero\n',
    });
    expect(await readApplied()).toEqual([...MIGRATION_NAMES, ...good]);
    copy.add('0104_fail', 'select 1;', 'select 1;');
    copy.add('0098_early', 'select 1;', 'select 1;');
    const rest = ['0098_early', '0104_fail']; // the early file runs although later files are applied
    expect(await migrate('up')).toEqual({ ...SUCCESS, stdout: rest.map((name) => `applied  ${name}\n`).join('') });
    expect(await migrate(`down ${good.length + rest.length} --yes`)).toMatchObject(SUCCESS);
    expect(await readApplied()).toEqual(MIGRATION_NAMES);
  });

  it('stores no carriage return in a function if the files have the line ends of Windows', async () => {
    const empty = await createDatabase({ migrated: false });
    await empty.query(RIGHTS);
    copy.environment = { DATABASE_URL: empty.url };
    for (const name of MIGRATION_NAMES) copy.write(name, readText(`migrations/${name}.sql`).replaceAll('\n', '\r\n'));
    expect(await migrate('up')).toMatchObject(SUCCESS);
    const withCarriageReturn = `select proname from pg_proc
      where pronamespace = 'public'::regnamespace and strpos(prosrc, chr(13)) > 0`;
    expect(await empty.query(withCarriageReturn)).toEqual([]);
    expect(await migrate('drift')).toMatchObject(SUCCESS);
    await empty.drop();
  });

  it('records ORDER_LOOKUP_PERSON in the change history', async () => {
    copy.environment = { DATABASE_URL: database.url, ORDER_LOOKUP_PERSON: "Ada O'Neill" };
    copy.add(
      '0100_list',
      `insert into code_list (name) values ('byAda');`,
      `delete from code_list where name = 'byAda';`,
    );
    // The variable is read from process.env, so the command needs a process of its own
    expect(await endOf(copy.start('migrate', 'up'))).toMatchObject(SUCCESS);
    const recorded = `select distinct person from history where migration = '0100_list'`;
    expect(await database.query(recorded)).toEqual([{ person: "Ada O'Neill" }]);
    expect(await migrate('down --yes')).toMatchObject(SUCCESS);
  });

  it('says in one line that the database does not exist, as plan does', async () => {
    copy.environment = { DATABASE_URL: database.url.replace(/[^/]+$/, 'absent') };
    const { status, stderr } = await migrate('up');
    const line = /^The database absent at .* cannot be used: database "absent" does not exist\. .*\n$/;
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(line) });
    expect(stderr).not.toContain(PASSWORD);
    expect(await migrate('plan')).toMatchObject({ stderr });
  });
});

describe('migrate down', () => {
  const VALUE = {
    up: `insert into code_list_value (code_list, value) values ('orderType', 'Transfer');`,
    down: `delete from code_list_value where value = 'Transfer';`,
  };

  it('shows what it would undo, and needs --yes if nobody can be asked', async () => {
    copy.add('0100_value', VALUE.up, VALUE.down);
    expect(await migrate('up')).toMatchObject(SUCCESS);
    // This connection string names two hosts. pg connects to the host in the query, so the output names this host
    const { port } = new URL(database.url);
    const elsewhere = database.url.replace(/@[^/]+/, '@elsewhere.invalid');
    copy.environment = { DATABASE_URL: `${elsewhere}?host=127.0.0.1&port=${port}` };
    expect(await migrate('down')).toEqual({
      status: 1,
      stdout: expect.stringMatching(
        /^To undo in the database test_\w+ at 127\.0\.0\.1:\d+: 0100_value\n[^]*! - Transfer removed/,
      ),
      stderr: 'Nothing was undone. Without a terminal, add --yes.\n',
    });
    copy.environment = { DATABASE_URL: database.url };
    const { stdout } = await migrate('down --yes');
    expect(stdout).toMatch(/\nundone {2}0100_value\n$/);
  });

  it.each([
    { answer: 'y', status: 0 },
    { answer: 'Yes', status: 0 },
    { answer: 'n', status: 1 },
    { answer: '', status: 1 },
  ])('asks at a terminal, and ends with the status $status after the answer "$answer"', async ({ answer, status }) => {
    copy.add('0100_value', VALUE.up, VALUE.down);
    expect(await migrate('up')).toMatchObject(SUCCESS);
    const outcome = await runLocally({
      program: 'migrate',
      words: ['down'],
      environment: copy.environment,
      folder: copy.folder,
      input: `${answer}\n`,
      isTerminal: true,
    });
    expect(outcome.stdout).toContain('Undo this? (yes or no) ');
    expect(outcome.status).toBe(status);
    expect(await readApplied()).toEqual(status === 0 ? MIGRATION_NAMES : [...MIGRATION_NAMES, '0100_value']);
    if (status !== 0) expect(await migrate('down --yes')).toMatchObject(SUCCESS);
  });

  it('refuses to undo a migration that has no down statements', async () => {
    copy.add('0100_add', 'create table added ();');
    expect(await migrate('up')).toMatchObject(SUCCESS);
    expect((await migrate('down --yes')).stderr).toBe(
      '0100_add.sql has no statement on the way down. Undo it by a new migration, ' +
        'or write a statement below "-- Down Migration".\n',
    );
    copy.add('0100_add', 'create table added ();', 'drop table added;');
    expect(await migrate('down --yes')).toMatchObject(SUCCESS);
  });
});

it.each(['check', 'status', 'plan', 'up', 'down --yes'])(
  '%s refuses a file with a misspelt marker, and does not treat the file as empty',
  async (line) => {
    copy.write('0100_misspelt', '-- Up Migratoin\nselect 1;');
    expect(await migrate(line)).toEqual({
      status: 1,
      stdout: '',
      stderr: '0100_misspelt.sql, line 1: a marker is misspelt. Write "-- Up Migration" or "-- Down Migration".\n',
    });
  },
);

it('status, plan and down name an applied migration without a file, and later migrations still run', async () => {
  const gone = `Applied, but without a file in migrations/: 0100_gone. Such a file is in a newer release or on another \
branch, or it was reverted. To find it: git log --all -- migrations/0100_gone.sql\n`;
  copy.add('0100_gone', 'select 1;', 'select 1;');
  expect(await migrate('up')).toMatchObject(SUCCESS);
  copy.reset();
  expect(await migrate('up')).toEqual({ ...SUCCESS, stdout: 'Nothing to do.\n' });
  expect(await migrate('plan')).toEqual({ ...SUCCESS, stdout: `No migration is pending.\n${gone}` });
  expect(await migrate('status')).toEqual({
    status: 1,
    stdout: expect.stringMatching(/\nmissing {2}0100_gone\nApplied, but [^\n]*0100_gone\.sql\n$/),
    stderr: '',
  });
  const refusal = `A migration can be undone only with its file.\n${gone}`;
  expect(await migrate('down --yes')).toEqual({ status: 1, stdout: '', stderr: refusal });
  copy.add('0101_more', 'select 1;', 'select 1;');
  expect((await migrate('plan')).stdout).toContain(`Pending: 0101_more\n${gone}`);
  expect(await migrate('up')).toEqual({ ...SUCCESS, stdout: 'applied  0101_more\n' });
  expect(await migrate('down --yes')).toMatchObject({
    ...SUCCESS,
    stdout: expect.stringMatching(/\nundone {2}0101_more\n$/),
  });
});

describe('the role that must own the tables', () => {
  async function createEmpty(sql = RIGHTS): Promise<TestDatabase> {
    const empty = await createDatabase({ migrated: false });
    await empty.query(sql);
    copy.environment = { DATABASE_URL: empty.url };
    return empty;
  }

  /** Creates a role, does the work with a connection string of this role, and drops the database and the role. */
  async function withRole(
    empty: TestDatabase,
    attributes: string,
    work: (role: string) => Promise<unknown>,
  ): Promise<void> {
    const role = `role_${empty.name.slice(-12)}`;
    await empty.query(`create role ${role} login password '${PASSWORD}' ${attributes}`);
    copy.environment = { DATABASE_URL: empty.urlOf(role) };
    await work(role);
    await empty.drop();
    await database.query(`drop role ${role}`);
  }

  it.each([
    { what: 'a superuser without the role', attributes: 'superuser' },
    { what: 'another role', attributes: '' },
  ])('is order_lookup_owner, so the first up by $what is refused, and creates nothing', async ({ attributes }) => {
    const empty = await createEmpty();
    await withRole(empty, attributes, async () => {
      const sentence =
        /^The tables must belong to order_lookup_owner, and role_\w+ is not a member .* Nothing was changed\. .*grant .*;\n$/;
      expect(await migrate('up')).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(sentence) });
      expect(await empty.query(`select from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([]);
    });
  });

  it('owns them also if a member of the role runs up', async () => {
    const empty = await createEmpty();
    await withRole(empty, 'in role order_lookup_owner', async () => {
      expect(await migrate('up')).toMatchObject(SUCCESS);
      const owners = `select distinct relowner::regrole::text as owner from pg_class
        where relnamespace = 'public'::regnamespace`;
      expect(await empty.query(owners)).toEqual([{ owner: 'order_lookup_owner' }]);
    });
  });

  it('is needed for each later up, so another role is refused in one sentence', async () => {
    const empty = await createEmpty(`${RIGHTS}; grant usage, create on schema public to public`);
    copy.environment = { DATABASE_URL: empty.urlOf('order_lookup_owner') };
    expect(await migrate('up')).toMatchObject(SUCCESS);
    await withRole(empty, '', async () => {
      const sentence = /^The tables belong to order_lookup_owner, and role_\w+ is not a member .*\n$/;
      expect(await migrate('up')).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(sentence) });
    });
  });

  it('is named in the refusal if it is a superuser, and up does not advise to grant this role', async () => {
    const other = await createDatabase();
    await other.query('alter table pgmigrations owner to postgres');
    copy.environment = { DATABASE_URL: other.urlOf('order_lookup_owner') };
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^The tables belong to postgres, and .* is not a member .*doctor\S* prints the statements that give the tables to \w+\.\n$/,
      ),
    });
    await other.drop();
  });

  // order_lookup_owner is a member of order_lookup_service, so PostgreSQL would refuse the grant as circular
  it('is named in the refusal, and up does not advise to grant this role to the role of the service', async () => {
    const empty = await createEmpty(`${RIGHTS}; grant usage, create on schema public to public`);
    copy.environment = { DATABASE_URL: empty.urlOf('order_lookup_service') };
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^The tables must belong to .* Nothing was changed\. Connect as order_lookup_owner\.\n$/,
      ),
    });
    await empty.drop();
  });

  it('is set by up and plan, so a member who may not set it is refused before any migration runs', async () => {
    const [version] = await database.query<{ number: number }>(
      `select current_setting('server_version_num')::int as number`,
    );
    if (Number(version?.number) < 160_000) return; // before PostgreSQL 16 every member may set the role
    const empty = await createEmpty();
    await withRole(empty, '', async (role) => {
      await empty.query(`grant order_lookup_owner to ${role} with set false`);
      const refused = {
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/ may not set it \(set role\)\. .* with set true;\n$/),
      };
      for (const line of ['plan', 'up']) expect(await migrate(line)).toEqual(refused);
      const [grant = ''] = /grant .*;/.exec((await migrate('up')).stderr) ?? [];
      await empty.query(grant);
      expect(await migrate('up')).toMatchObject(SUCCESS);
    });
  });

  it('needs rights on a schema public that belongs to another role', async () => {
    const empty = await createEmpty('revoke all on schema public from public');
    expect(await migrate('up')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^order_lookup_owner may not create tables in the schema public, which belongs to \w+\. .*1-roles\.sql in this database, or as \w+: grant usage, create on schema public to order_lookup_owner;\n$/,
      ),
    });
    await empty.drop();
  });
});

it('migrate down is refused if the server clock was set back, until the printed statement has been run', async () => {
  copy.environment = { DATABASE_URL: database.urlOf('order_lookup_owner') };
  for (const name of ['0100_first', '0101_second', '0102_third']) copy.add(name, 'select 1;', 'select 1;');
  expect(await migrate('up')).toMatchObject(SUCCESS);
  await database.query(`update pgmigrations set run_on = run_on - interval '1 day' where name = '0101_second';
    update pgmigrations set run_on = run_on - interval '1 hour' where name = '0102_third'`);
  const { status, stderr } = await migrate('down 2 --yes');
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^The server's clock was set back/) });
  const [statement = ''] = /update pgmigrations .*;/.exec(stderr) ?? [];
  await queryAt(database.urlOf('order_lookup_owner'), statement);
  const undone = await migrate('down 3 --yes');
  expect(undone.stdout).toMatch(/undone {2}0102_third\nundone {2}0101_second\nundone {2}0100_first\n$/);
});
