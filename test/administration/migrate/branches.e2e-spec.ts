// Several people work on branches of one repository. They share one database, and production has another database.
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import type { Outcome } from '../../support/program.js';
import { ProgramCopy } from '../../support/project-copy.js';

const AUTHOR = '-c user.name=t -c user.email=t@example.com -c commit.gpgsign=false'.split(' ');
const copy = new ProgramCopy();
const databases: TestDatabase[] = [];

writeFileSync(join(copy.folder, '.gitignore'), 'dist\nnode_modules\n');
git('init -q -b main');
commit('The first release');
git('tag release');

beforeEach(() => {
  git('checkout -q -f -B main release');
  git('clean -dfq');
  const branches = git('branch --format=%(refname:short)').split('\n');
  for (const branch of branches) if (branch !== 'main') git(`branch -q -D ${branch}`);
});
afterAll(async () => {
  copy.remove();
  for (const database of databases) await database.drop();
});

function git(line: string): string {
  const words = [...AUTHOR, ...line.split(' ')];
  return execFileSync('git', words, { cwd: copy.folder, encoding: 'utf8', stdio: 'pipe' }).trim();
}

function commit(message: string): void {
  git('add -A');
  execFileSync('git', [...AUTHOR, 'commit', '-qm', message], { cwd: copy.folder, stdio: 'pipe' });
}

function checkoutNew(branch: string): void {
  git(`checkout -q -B ${branch} release`);
}

async function createTestDatabase(): Promise<TestDatabase> {
  const database = await createDatabase();
  databases.push(database);
  return database;
}

function migrate({ url }: TestDatabase, line: string): Promise<Outcome> {
  copy.environment = { DATABASE_URL: url };
  return copy.run('migrate', ...line.split(' '));
}

/** The times at which files are written. The name of a file begins with its time. */
const FIRST_DAY = '2027-01-01T00:00:00Z';
const SECOND_DAY = '2027-01-02T00:00:00Z';

interface NewFile {
  readonly subject: string;
  readonly writtenAt: string;
}

/** Creates a file with `migrate new`, and returns its name. */
async function createFile({ subject, writtenAt }: NewFile): Promise<string> {
  const { stdout, stderr } = await runNewAt(subject, writtenAt);
  const name = /(?<name>\d{14}_\w+)\.sql\n$/.exec(stdout)?.groups?.['name'];
  if (name === undefined) throw new Error(`no file was created: ${stderr}`);
  return name;
}

/** Runs `migrate new` in the process of the test, so that the program reads this time as `Date.now()`. */
async function runNewAt(subject: string, writtenAt: string): Promise<Outcome> {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.parse(writtenAt));
  try {
    return await copy.run('migrate', 'new', subject);
  } finally {
    clock.mockRestore();
  }
}

/** Commits a new file that adds a list, and returns its name. */
async function commitNewList(list: string, writtenAt = FIRST_DAY): Promise<string> {
  const name = await createFile({ subject: `add_${list}`, writtenAt });
  copy.add(name, `insert into code_list (name) values ('${list}');`, `delete from code_list where name = '${list}';`);
  commit(`Add ${list}`);
  return name;
}

async function readLists(database: TestDatabase): Promise<unknown[]> {
  const rows = await database.query(`select name from code_list where name in ('theirs', 'ours') order by name`);
  return rows.map(({ name }) => name as unknown);
}

it.each([
  { order: 'ours first', branches: ['ours', 'theirs'] },
  { order: 'theirs first', branches: ['theirs', 'ours'] },
])(
  'two branches may be merged in either order, also if a database already has the later migration: $order',
  async ({ branches }) => {
    checkoutNew('theirs');
    const theirs = await commitNewList('theirs');
    checkoutNew('ours');
    const ours = await commitNewList('ours', SECOND_DAY);
    const shared = await createTestDatabase();
    const production = await createTestDatabase();
    expect(await migrate(shared, 'up')).toMatchObject({ stdout: `applied  ${ours}\n` });

    git('checkout -q main');
    for (const branch of branches) {
      git(`merge -q --no-edit ${branch}`);
      expect(await copy.run('migrate', 'check')).toMatchObject({ status: 0, stderr: '' });
      expect(await migrate(production, 'up')).toMatchObject({ status: 0, stderr: '' });
    }
    expect(await migrate(shared, 'plan')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        new RegExp(`\\n${theirs}: if .* Its name is earlier than ${ours}, which is applied: `),
      ),
    });
    expect(await migrate(shared, 'up')).toMatchObject({ stdout: `applied  ${theirs}\n` });
    for (const database of [shared, production]) {
      expect(await readLists(database)).toEqual(['ours', 'theirs']);
      expect(await migrate(database, 'status')).toMatchObject({ status: 0, stderr: '' });
      expect(await migrate(database, 'up')).toMatchObject({ stdout: 'Nothing to do.\n' });
    }
  },
);

it('if a migration was reverted in git, a new one with the same subject is applied', async () => {
  const database = await createTestDatabase();
  const reverted = await commitNewList('ours');
  expect(await migrate(database, 'up')).toMatchObject({ stdout: `applied  ${reverted}\n` });
  git('revert --no-edit HEAD');
  // The revert has deleted the file, but the database still has the migration
  expect(await migrate(database, 'status')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining(`git log --all -- migrations/${reverted}.sql`),
  });
  const again = await createFile({ subject: 'add_ours', writtenAt: SECOND_DAY });
  // The database still has the list `ours` of the reverted file, so the new file adds the list `theirs`
  copy.add(again, `insert into code_list (name) values ('theirs');`, 'select 1;');
  expect(await migrate(database, 'up')).toMatchObject({ status: 0, stdout: `applied  ${again}\n` });
  expect(await readLists(database)).toEqual(['ours', 'theirs']);
});

describe('migrate new', () => {
  it('gives a new file a name that sorts after all others, also if the clock of another writer was ahead', async () => {
    copy.add('29991231235959_far_ahead', 'select 1;', 'select 1;');
    const writtenAt = FIRST_DAY;
    expect(await createFile({ subject: 'one', writtenAt })).toBe('30000101000000_one');
    expect(await createFile({ subject: 'two', writtenAt })).toBe('30000101000001_two');
  });

  it('refuses a subject that cannot be part of the name', async () => {
    const files = readdirSync(copy.migrations);
    expect(await copy.run('migrate', 'new', 'Bad-Name')).toEqual({
      status: 1,
      stdout: '',
      stderr: '"Bad-Name" is not a name such as add_order_type: use only a to z, 0 to 9 and _.\n',
    });
    expect(readdirSync(copy.migrations)).toEqual(files);
  });
});
