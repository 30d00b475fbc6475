// The workflow of docs/pipeline.md: its commands are run as the page has them, step by step, with a `gh` that keeps
// what it is told, and an `npm` that needs no second of its own.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readBlocks } from '../support/pages.js';
import { PageWalk } from './page-walk.js';
import { PROJECT, shell } from '../support/program.js';

interface Job {
  readonly if: string;
  readonly env: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly run?: string }[];
}

const { on, jobs } = parse(readBlocks('docs/pipeline.md').find(({ language }) => language === 'yaml')?.text ?? '') as {
  on: Readonly<Record<string, unknown>>;
  jobs: Readonly<Record<'plan' | 'check' | 'up' | 'drift', Job>>;
};
const INSTALLATION = 'npm ci && npm run build';
const ADD = `insert into code_list_value (code_list, value) values ('orderType', 'Transfer')`;
const RETIRE = `delete from code_list_value where code_list = 'partyType' and value = 'Solicitor'`;
const MANY = `insert into communication_code
  select 'T', 'CODE-' || n, repeat('x', 500) from generate_series(1, 200) n`;
/** Keeps the comments in a file, and refuses a body of more than 65,536 characters, as GitHub does. */
const GH = `#!/usr/bin/env node
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const words = process.argv.slice(2);
const comments = existsSync('comments.json') ? JSON.parse(readFileSync('comments.json', 'utf8')) : [];
const option = (name) => words[words.indexOf(name) + 1];
if (words.includes('--jq')) {
  const [, marker] = /startswith\\("(.*)"\\)/.exec(option('--jq'));
  for (const { id, user, body } of comments)
    if (user === 'Bot' && body.startsWith(marker)) console.log(id);
} else {
  const body = readFileSync(option('-F').replace('body=@', ''), 'utf8');
  if (Array.from(body).length > 65536) {
    console.error('Body is too long (maximum is 65536 characters)');
    process.exit(1);
  }
  const id = words.includes('PATCH') ? Number(/comments\\/(\\d+)/.exec(words.join(' '))[1]) : comments.length + 1;
  comments[id - 1] = { id, user: 'Bot', body };
  writeFileSync('comments.json', JSON.stringify(comments));
}
`;

/** Of `npm run [--silent] PROGRAM -- WORD…`. */
const NPM = `#!/bin/sh
if [ "$2" = --silent ]; then shift; fi
program=$2
shift 3
exec node "dist/$program.js" "$@"
`;

interface Comment {
  readonly id: number;
  readonly user: string;
  readonly body: string;
}

/** Of a person who quotes the marker. */
const FIRST_COMMENTS: Comment[] = [
  { id: 1, user: 'User', body: '<!-- order-lookup plan --> is what the plan begins with' },
];

const walk = new PageWalk({ replicas: 0 });
beforeAll(async () => {
  cpSync(join(PROJECT, '.gitignore'), join(walk.folder, '.gitignore'));
  writeFileSync(join(walk.folder, 'gh'), GH, { mode: 0o755 });
  writeFileSync(join(walk.folder, 'npm'), NPM, { mode: 0o755 });
  writeFileSync(join(walk.folder, 'comments.json'), JSON.stringify(FIRST_COMMENTS));
  await git('init -q -b main && git config user.name ada && git config user.email ada@example.com');
  await git('add migrations && git commit -qm first');
  await git('update-ref refs/remotes/origin/main main');
});

async function git(command: string): Promise<void> {
  expect(await shell(`git ${command}`, walk.folder, {})).toMatchObject({ status: 0 });
}

async function commit(name: string, sql: string): Promise<void> {
  const created = await walk.run(`npm run --silent migrate -- new ${name}`);
  writeFileSync(/^created (\S+)/.exec(created.stdout)?.[1] ?? '', `-- Up Migration\n${sql};\n`);
  await git(`add migrations && git commit -qm ${name}`);
}

/**
 * Runs the steps of a job up to the first that fails; what the last one printed, or the comment on the pull request.
 */
async function run(job: Job, informed = false): Promise<{ status: number | null; said: string }> {
  const environment = JSON.parse(
    JSON.stringify(job.env)
      .replace('${{ secrets.DATABASE_URL }}', walk.world.database.urlOf('order_lookup_owner'))
      .replace('${{ github.base_ref }}', 'main')
      .replace('${{ github.event.merge_group.base_sha }}', 'origin/main')
      .replace('${{ github.actor }}', 'ada')
      .replace('${{ github.repository }}', 'o/r')
      .replace('${{ github.event.number }}', '7')
      .replace(/\$\{\{ contains.*?\}\}/, String(informed)),
  ) as Record<string, string>;
  let outcome = { status: 0 as number | null, stdout: '', stderr: '' };
  for (const { run: command = INSTALLATION } of job.steps) {
    if (command === INSTALLATION || outcome.status !== 0) continue;
    writeFileSync(join(walk.folder, '.step.sh'), `PATH=$PWD:$PATH\n${command}`);
    outcome = await shell('bash -e .step.sh', walk.folder, environment);
  }
  return { status: outcome.status, said: outcome.stdout };
}

function comments(): Comment[] {
  return JSON.parse(readFileSync(join(walk.folder, 'comments.json'), 'utf8')) as Comment[];
}

it('the workflow of docs/pipeline.md comments a plan, and stops where it breaks clients', async () => {
  await commit('add_order_type', ADD);
  expect(await run(jobs.plan)).toMatchObject({ status: 0 });
  expect(comments()[1]?.body).toContain('\n    + Transfer added\n');
  await commit('retire_solicitor', RETIRE);
  expect(await run(jobs.plan)).toMatchObject({ status: 2 });
  // Its own comment has the new plan, and that of a person stays
  const [quoting, own, ...others] = comments();
  expect(quoting).toEqual(FIRST_COMMENTS[0]);
  expect(own?.body).toMatch(/^<!-- order-lookup plan -->\n~+\n[^]*\n {2}! - Solicitor removed [^]*\n~+\n$/);
  expect(others).toEqual([]);
});

it.each([
  { job: 'plan', change: 'echo "-- changed" >>' },
  { job: 'plan', change: 'rm' },
  { job: 'check', change: 'rm' },
] as const)(
  'the job $job of docs/pipeline.md stops where a merged migration is met by $change',
  async ({ job, change }) => {
    await shell(`${change} migrations/0001_create_code_tables.sql`, walk.folder, {});
    await git('commit -qam change');
    const said: unknown = expect.stringContaining('0001_create_code_tables');
    expect(await run(jobs[job])).toMatchObject({ status: 1, said });
    await git('reset -q --hard HEAD~1');
  },
);

it('the workflow of docs/pipeline.md answers a queue of merges without a database', async () => {
  expect(on).toHaveProperty('merge_group');
  const started = Object.entries(jobs).filter(([, job]) => job.if.includes("'merge_group'"));
  expect(started).toEqual([['check', jobs.check]]);
  expect(JSON.stringify(jobs.check)).not.toMatch(/secrets|environment/);
  expect(await run(jobs.check)).toMatchObject({ status: 0 });
  await commit('add_nothing', '<<<<<<< HEAD');
  expect(await run(jobs.check)).toMatchObject({ status: 1 });
  await git('reset -q --hard HEAD~1');
});

it('the workflow of docs/pipeline.md goes on where callers are informed, and posts what fits of a plan', async () => {
  await commit('add_many', MANY);
  expect(await run(jobs.plan, true)).toMatchObject({ status: 0, said: '' });
  const { body } = comments()[1] as Comment;
  expect(body).toContain('\n    … and 180 more (--full)\n');
  const whole = readFileSync(join(walk.folder, 'plan-full.txt'), 'utf8');
  expect(whole.match(/^ {4}\+ codeType "T", code "CODE-\d+", description "x{500}" added$/gm)).toHaveLength(200);
});

it('the workflow of docs/pipeline.md does not fail where the comment is refused', async () => {
  const { folder } = walk;
  writeFileSync(join(folder, 'gh'), '#!/bin/sh\nexit 1\n');
  expect(await run(jobs.plan, true)).toMatchObject({
    status: 0,
    said: expect.stringMatching(/^::warning::The plan is not posted: /),
  });
});

it('the workflow of docs/pipeline.md applies, and names the person in the change history', async () => {
  expect(await run(jobs.up)).toMatchObject({ status: 0 });
  const rows = await walk.world.database.query(
    `select person from change_history where new_row ->> 'value' = 'Transfer'`,
  );
  expect(rows).toEqual([{ person: 'ada' }]);
});

it('the workflow of docs/pipeline.md finds at night what was changed by hand, and nothing else', async () => {
  const { database } = walk.world;
  await database.query(`delete from history where new_row ->> 'code_type' like 'SAMPLE-%'`); // of this world
  expect(await run(jobs.drift)).toMatchObject({ status: 0 });
  await database.query(`update code_list_value set value = 'Fridge' where value = 'Refrigerated'`);
  expect(await run(jobs.drift)).toEqual({ status: 2, said: expect.stringContaining('Fridge') });
});
