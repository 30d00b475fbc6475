import { execFileSync } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { createDatabase } from '../../support/database.js';
import { NAMES, ProgramCopy } from '../../support/program-copy.js';

const LAST = NAMES.at(-1) ?? '';
const numbered = (after: number, subject: string): string =>
  `${String(Number(LAST.slice(0, 4)) + after).padStart(4, '0')}_${subject}`;

const AUTHOR = '-c user.name=t -c user.email=t@example.com -c commit.gpgsign=false'.split(' ');
const git = (copy: ProgramCopy, ...words: string[]): string =>
  execFileSync('git', [...AUTHOR, ...words], { cwd: copy.folder, encoding: 'utf8', stdio: 'pipe' });
const commit = (copy: ProgramCopy): void => {
  git(copy, 'add', '-A');
  git(copy, 'commit', '-qm', 'Step');
};

const database = await createDatabase();
const origin = new ProgramCopy();
git(origin, 'init', '-q', '-b', 'main');
commit(origin);
execFileSync('git', ['clone', '-q', origin.folder, `${origin.folder}-ours`]);
const ours = new ProgramCopy(`${origin.folder}-ours`);
ours.environment = { DATABASE_URL: database.url };

afterAll(async () => {
  ours.remove();
  origin.remove();
  await database.drop();
});

const [THEIRS, MORE] = [numbered(1, 'add_theirs'), numbered(2, 'add_more')];
const [EARLIER, OURS] = [numbered(1, 'add_ours'), numbered(3, 'add_ours')];
const good = (stdout: string) => ({ status: 0, stdout, stderr: '' });

it('two clones that both add a migration are refused once merged, are renumbered, and work with a database to which one of them was applied', async () => {
  for (const [copy, name] of [
    [origin, THEIRS],
    [origin, MORE],
    [ours, EARLIER],
  ] as const) {
    const { stdout } = await copy.migrate('new', name.slice(5));
    expect(stdout).toMatch(new RegExp(`^created .*/${name}\\.sql\n$`));
    copy.add(name, `insert into code_list (name) values ('${name.slice(5)}');`);
    expect(await copy.migrate('check')).toMatchObject({ status: 0 });
    commit(copy);
  }
  expect(await ours.migrate('new', 'Bad-Name')).toMatchObject({ status: 1, stdout: '' });
  expect(await ours.migrate('up')).toMatchObject({ status: 0 });

  git(ours, 'fetch', '-q');
  const early = await ours.migrate('check', '--base', 'origin/main');
  expect(early.stderr).toContain(`${EARLIER}.sql does not come after ${MORE}.sql of origin/main: `);
  git(ours, 'merge', '-q', 'origin/main');
  const twice = `${EARLIER}.sql and ${THEIRS}.sql have the same number. Give those that are not on the main branch the next free ones: node dist/migrate.js renumber --base origin/main\n`;
  for (const command of ['check', 'up'])
    expect(await ours.migrate(command)).toEqual({ status: 1, stdout: '', stderr: twice });
  expect(await ours.migrate('renumber', '--base', 'origin/main')).toEqual(
    good(`${EARLIER} → ${OURS}\n`),
  );
  commit(ours);
  expect(await ours.migrate('check', '--base', 'origin/main')).toMatchObject({ status: 0 });

  expect((await ours.migrate('status')).stdout).toContain(
    `applied  ${OURS}\npending  ${THEIRS}\npending  ${MORE}\n`,
  );
  await database.query(`insert into code_list (name) values ('add_more')`);
  const failed = await ours.migrate('up');
  expect(failed).toMatchObject({ status: 1, stdout: '' });
  expect(failed.stderr).toContain(`Done in this run: ${THEIRS}.`);
  await database.query(`delete from code_list where name = 'add_more'`);
  expect(await ours.migrate('up')).toEqual(good(`applied  ${MORE}\n`));
  expect((await ours.migrate('status')).stdout).toContain(
    `applied  ${OURS}\napplied  ${THEIRS}\napplied  ${MORE}\n`,
  );
  expect(
    await database.query(`select name::text from code_list where name like 'add\\_%' order by 1`),
  ).toEqual([{ name: 'add_more' }, { name: 'add_ours' }, { name: 'add_theirs' }]);
});

it('branches are checked against the merge base, for files that were changed or removed and numbers that are too low', async () => {
  appendFileSync(join(ours.migrations, `${NAMES[0]}.sql`), '-- changed\n');
  rmSync(join(ours.migrations, `${NAMES[1]}.sql`));
  ours.add('0000_early', 'select 1;');
  const { status, stderr } = await ours.migrate('check', '--base', 'origin/main');
  expect(status).toBe(1);
  expect(stderr.split('\n').map((line) => line.split('. ')[0])).toEqual([
    `${NAMES[0]}.sql of origin/main was changed or removed`,
    `${NAMES[1]}.sql of origin/main was changed or removed`,
    `0000_early.sql does not come after ${MORE}.sql of origin/main: node dist/migrate.js renumber --base origin/main`,
    '',
  ]);
  expect(await ours.migrate('check', '--base', 'nowhere')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^git cannot tell what "nowhere" holds: .*\n$/),
  });
  // What the other one has added since the branch left is no fault
  git(ours, 'checkout', '-qf', git(ours, 'merge-base', 'HEAD^', 'origin/main').trim());
  git(ours, 'clean', '-qfd');
  ours.add(OURS, 'select 1;');
  expect(await ours.migrate('check', '--base', 'origin/main')).toMatchObject({ status: 0 });
});
