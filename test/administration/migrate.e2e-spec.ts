import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { PROJECT, cleanEnvironment, run } from '../support/program.js';
import { until } from '../support/service.js';

const NAMES = readdirSync(join(PROJECT, 'migrations')).map((file) => file.replace('.sql', ''));
const EXAMPLES = join(import.meta.dirname, 'plan-examples');

/** A copy of the program with migrations of its own, so that a test can add some. */
let folder: string;
let database: TestDatabase;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrate-'));
  cpSync(join(PROJECT, 'dist'), join(folder, 'dist'), { recursive: true });
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeEach(async () => {
  rmSync(join(folder, 'migrations'), { recursive: true, force: true });
  cpSync(join(PROJECT, 'migrations'), join(folder, 'migrations'), { recursive: true });
});
afterEach(() => database?.drop());

const program = (...words: string[]) => {
  const child = spawn(process.execPath, [join(folder, 'dist/migrate.js'), ...words], {
    env: cleanEnvironment({ DATABASE_URL: database.url }),
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  const ended = once(child, 'close').then(([status]) => ({
    status: status as number | null,
    ...output,
  }));
  return { child, ended };
};
const migrate = (...words: string[]) => program(...words).ended;
const add = (name: string, up: string, down = ''): void =>
  writeFileSync(
    join(folder, 'migrations', `${name}.sql`),
    `-- Up Migration\n${up}\n-- Down Migration\n${down}\n`,
  );
const applied = async (): Promise<string[]> =>
  (await database.query<{ name: string }>('select name from pgmigrations order by id')).map(
    ({ name }) => name,
  );

describe('migrate', () => {
  it('applies all from empty, nothing the second time, and goes down and up again', async () => {
    database = await createDatabase({ migrated: false });
    expect(await migrate('up')).toEqual({
      status: 0,
      stdout: `${NAMES.map((name) => `applied  ${name}`).join('\n')}\n`,
      stderr: '',
    });
    expect(await migrate('up')).toEqual({ status: 0, stdout: 'Nothing to do.\n', stderr: '' });
    expect(await migrate('down', String(NAMES.length))).toMatchObject({ status: 0, stderr: '' });
    expect(
      await database.query(
        `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') and relname <> 'pgmigrations'`,
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
    database = await createDatabase({ migrated: false });
    const outcomes = await Promise.all([migrate('up'), migrate('up'), migrate('up')]);
    expect(outcomes.map(({ status, stderr }) => ({ status, stderr }))).toEqual(
      Array(3).fill({ status: 0, stderr: '' }),
    );
    expect(await applied()).toEqual(NAMES);
  });

  it('leaves nothing half done and no lock when it is killed', async () => {
    database = await createDatabase();
    add('0100_take_long', `create table half_done (x int);\nselect pg_sleep(60);`);
    const { child, ended } = program('up');
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
    database = await createDatabase();
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
      database = await createDatabase();
      add('0100_tear', `insert into code_list (name) values ('torn');\n${word};`);
      expect(await migrate('up')).toEqual({
        status: 1,
        stdout: '',
        stderr: `0100_tear.sql contains "${word}": each migration runs in a transaction already. Take the statement out.\n`,
      });
    },
  );

  it('creates the next migration from a template', async () => {
    database = await createDatabase();
    expect((await migrate('new', 'add_order_type')).stdout).toMatch(
      /^created .*\/0005_add_order_type\.sql\n$/,
    );
    expect(await migrate('new', 'Bad-Name')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('"Bad-Name" cannot be part of a file name'),
    });
  });
});

describe('migrate plan', () => {
  it.each([
    [
      '0100_add_order_type',
      0,
      [{ kind: 'added', what: 'value', property: 'orderType', name: 'Transfer' }],
    ],
    [
      '0101_rename_and_retire',
      2,
      [
        {
          kind: 'renamed',
          what: 'value',
          property: 'equipmentType',
          name: 'FlatBed',
          to: 'Flatbed',
        },
        { kind: 'removed', what: 'value', property: 'transportationMode', name: 'Best' },
      ],
    ],
  ])(
    'shows what %s changes in both areas, with status %i, and changes nothing',
    async (name, status, changes) => {
      database = await createDatabase();
      copyFileSync(join(EXAMPLES, `${name}.sql`), join(folder, 'migrations', `${name}.sql`));
      const outcome = await migrate('plan', '--json');
      expect({ status: outcome.status, stderr: outcome.stderr }).toEqual({ status, stderr: '' });
      expect(JSON.parse(outcome.stdout)).toEqual({
        migrations: [name],
        changes: ['order-update', 'order-capture-v2'].flatMap((area) =>
          changes.map((change) => ({ ...change, area })),
        ),
      });
      expect(await applied()).toEqual(NAMES);
      expect(
        (await database.query(`select from code_list_value where value in ('Transfer', 'Flatbed')`))
          .length,
      ).toBe(0);
    },
  );

  it('shows added records, and says that callers are safe', async () => {
    database = await createDatabase();
    copyFileSync(
      join(EXAMPLES, '0102_add_communication_codes.sql'),
      join(folder, 'migrations', '0102_add_communication_codes.sql'),
    );
    expect(await migrate('plan')).toEqual({
      status: 0,
      stderr: '',
      stdout: `Pending: 0102_add_communication_codes\n\norder-scheduling\n    + record APPOINTMENT CONFIRMED added\n    + record APPOINTMENT DECLINED added\n\nNothing here breaks clients.\nNothing was changed: this was a plan.\n`,
    });
  });

  it('works from an empty database', async () => {
    database = await createDatabase({ migrated: false });
    const { status, stdout } = await migrate('plan');
    expect(status).toBe(0);
    expect(stdout).toContain('+ property orderType added');
    expect(
      await database.query(
        `select to_regclass('code_list') as gone, to_regclass('pgmigrations') as gone_too`,
      ),
    ).toEqual([{ gone: null, gone_too: null }]);
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
