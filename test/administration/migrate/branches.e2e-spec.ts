// Several people, with clones of one repository, one shared database and one of production.
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import { NAMES, ProgramCopy } from '../../support/program-copy.js';

const AUTHOR = '-c user.name=t -c user.email=t@example.com -c commit.gpgsign=false'.split(' ');
const origin = new ProgramCopy();
const clones: ProgramCopy[] = [];
const databases: TestDatabase[] = [];

git(origin, 'init -q -b main');
commit(origin, 'The first release');

afterAll(async () => {
  for (const copy of [origin, ...clones]) copy.remove();
  for (const database of databases) await database.drop();
});

function git(copy: ProgramCopy, words: string): string {
  const options = { cwd: copy.folder, encoding: 'utf8', stdio: 'pipe' } as const;
  return execFileSync('git', [...AUTHOR, ...words.split(' ')], options).trim();
}

function commit(copy: ProgramCopy, message: string): void {
  git(copy, 'add -A');
  const options = { cwd: copy.folder, stdio: 'pipe' } as const;
  execFileSync('git', [...AUTHOR, 'commit', '-qm', message], options);
}

function clone(): ProgramCopy {
  const folder = `${origin.folder}-${clones.length}`;
  execFileSync('git', ['clone', '-q', origin.folder, folder]);
  const copy = new ProgramCopy(folder);
  clones.push(copy);
  return copy;
}

async function newDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  databases.push(database);
  return database;
}

/** Creates a file by the command, which adds a list. Gives its name. */
async function addList(copy: ProgramCopy, list: string): Promise<string> {
  const { stdout } = await copy.migrate('new', `add_${list}`);
  const name = /(\d{14}_\w+)\.sql\n$/.exec(stdout)?.[1] ?? '';
  copy.add(
    name,
    `insert into code_list (name) values ('${list}');`,
    `delete from code_list where name = '${list}';`,
  );
  commit(copy, `Add ${list}`);
  return name;
}

function migrate(copy: ProgramCopy, { url }: TestDatabase, words: string) {
  copy.environment = { DATABASE_URL: url };
  return copy.migrate(...words.split(' '));
}

const lists = (database: TestDatabase) =>
  database.query(`select name::text from code_list where name in ('theirs', 'ours') order by 1`);

it.each(['ours first', 'theirs first'])(
  'two branches with new files merge in either order, one of them applied elsewhere before: %s',
  async (order) => {
    const main = clone();
    git(main, 'checkout -q -b theirs');
    const theirs = await addList(main, 'theirs');
    git(main, 'checkout -q -b ours origin/main');
    const ours = await addList(main, 'ours');
    const [shared, production] = [await newDatabase(), await newDatabase()];
    expect(await migrate(main, shared, 'up')).toMatchObject({ stdout: `applied  ${ours}\n` });

    git(main, 'checkout -q -b merged origin/main');
    const branches = order === 'ours first' ? ['ours', 'theirs'] : ['theirs', 'ours'];
    for (const branch of branches) {
      git(main, `merge -q --no-edit ${branch}`);
      expect(await migrate(main, production, 'check --base origin/main')).toMatchObject({
        status: 0,
      });
      expect(await migrate(main, production, 'up')).toMatchObject({ status: 0, stderr: '' });
    }
    expect(await migrate(main, shared, 'plan')).toMatchObject({ status: 0 });
    expect(await migrate(main, shared, 'up')).toMatchObject({ stdout: `applied  ${theirs}\n` });
    for (const database of [shared, production]) {
      expect(await lists(database)).toEqual([{ name: 'ours' }, { name: 'theirs' }]);
      expect(await migrate(main, database, 'status')).toMatchObject({ status: 0 });
      expect(await migrate(main, database, 'up')).toMatchObject({ stdout: 'Nothing to do.\n' });
    }
  },
);

it('a file that is reverted and written again under the same subject runs', async () => {
  const main = clone();
  const database = await newDatabase();
  const first = await addList(main, 'ours');
  expect(await migrate(main, database, 'up')).toMatchObject({ stdout: `applied  ${first}\n` });
  git(main, 'revert --no-edit HEAD');
  // It was not undone in this database
  expect(await migrate(main, database, 'status')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining(`git log --all -- migrations/${first}.sql`),
  });
  const { stdout } = await main.migrate('new', 'add_ours');
  const second = /(\d{14}_\w+)\.sql\n$/.exec(stdout)?.[1] ?? '';
  expect(second > first).toBe(true);
  main.add(second, `insert into code_list (name) values ('theirs');`, 'select 1;');
  expect(await migrate(main, database, 'up')).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      new RegExp(`^applied  ${second}\nApplied, but .*${first}\\.sql\n$`),
    ),
  });
  expect(await lists(database)).toEqual([{ name: 'ours' }, { name: 'theirs' }]);
});

it('a branch that was applied to the shared database and never merged stops nobody', async () => {
  const main = clone();
  const database = await newDatabase();
  git(main, 'checkout -q -b experiment');
  const experiment = await addList(main, 'theirs');
  await migrate(main, database, 'up');
  git(main, 'checkout -q main');
  const ours = await addList(main, 'ours');
  const found = git(main, `log --all --format=%s -- migrations/${experiment}.sql`);
  expect(found).toBe('Add theirs'); // what the sentence tells to do
  for (const words of ['plan', 'up'])
    expect(await migrate(main, database, words)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`Applied, but not among the files: ${experiment}. `),
    });
  expect(await migrate(main, database, 'status')).toMatchObject({ status: 1 });
  expect(await migrate(main, database, 'down --yes')).toMatchObject({ status: 0 });
  expect(await migrate(main, database, 'status')).toMatchObject({
    stdout: expect.stringContaining(`pending  ${ours}\n`),
  });
});

it('a new file comes after all others, also after one whose writer has a fast clock', async () => {
  const main = clone();
  main.add('29991231235959_far_ahead', 'select 1;', 'select 1;');
  await main.migrate('new', 'one');
  await main.migrate('new', 'two');
  expect(readdirSync(main.migrations).sort().slice(-2)).toEqual([
    '30000101000000_one.sql',
    '30000101000001_two.sql',
  ]);
  expect(await main.migrate('new', 'Bad-Name')).toMatchObject({ status: 1, stdout: '' });
});

it('check names files that were changed or removed since the merge base, with all other faults', async () => {
  const main = clone();
  const [changed, removed, chmodded] = NAMES;
  appendFileSync(join(main.migrations, `${changed}.sql`), '-- changed\n');
  rmSync(join(main.migrations, `${removed}.sql`));
  chmodSync(join(main.migrations, `${chmodded}.sql`), 0o755);
  main.write('20261399000000_no_time', '-- Up Migration\nselect 1;\n');
  main.write('0100_conflict', '-- Up Migration\n<<<<<<< HEAD\nselect 1;\n=======\n');
  commit(main, 'With faults');
  const { status, stderr } = await main.migrate('check', '--base', 'origin/main');
  expect(status).toBe(1);
  expect(stderr.split('\n')).toEqual([
    '20261399000000_no_time.sql: a name such as 20261127120000_add_order_type.sql is needed.',
    '0100_conflict.sql, line 2: a conflict of git is not resolved. Choose the lines that count.',
    expect.stringMatching(`^${changed}.sql of origin/main was changed or removed. `),
    expect.stringMatching(`^${removed}.sql of origin/main was changed or removed. `),
    '',
  ]);
  expect(await main.migrate('check', '--base', 'nowhere')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/git cannot tell what "nowhere" holds: .*\n$/),
  });
});

it('check finds no fault in a branch that is behind its base', async () => {
  const branch = clone();
  await addList(origin, 'newer');
  git(branch, 'fetch -q');
  await addList(branch, 'ours');
  expect(await branch.migrate('check', '--base', 'origin/main')).toMatchObject({ status: 0 });
  // Also with the line ends of Windows, if git converts them
  git(branch, 'config core.autocrlf true');
  git(branch, 'rm -rq --cached migrations');
  git(branch, 'reset -q --hard');
  expect(await branch.migrate('check', '--base', 'origin/main')).toMatchObject({ status: 0 });
});
