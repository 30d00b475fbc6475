// Runs the workflow of docs/pipeline.md, step by step. Most tests need the commits and comments of the tests before
// them. So keep their order, and run the whole file: with `-t` a later test may fail.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readBlocks } from '../support/pages.js';
import { PageWalk, expectSuccess } from './page-walk.js';
import { PROJECT, shell } from '../support/program.js';

type Environment = Readonly<Record<string, string>>;

interface Job {
  readonly if: string;
  readonly env?: Environment;
  readonly steps: readonly { readonly run?: string; readonly env?: Environment }[];
}

const { on, jobs } = parse(readBlocks('docs/pipeline.md').find(({ language }) => language === 'yaml')?.text ?? '') as {
  on: Readonly<Record<string, unknown>>;
  jobs: Readonly<Record<'plan' | 'check' | 'up' | 'drift', Job>>;
};
const INSTALLATION = 'npm ci && npm run build';
const ADD_ORDER_TYPE = `insert into code_list_value (code_list, value) values ('orderType', 'Transfer')`;
const REMOVE_PARTY_TYPE = `delete from code_list_value where code_list = 'partyType' and value = 'Solicitor'`;
const ADD_200_CODES = `insert into communication_code
  select 'T', 'CODE-' || n, repeat('x', 500) from generate_series(1, 200) n`;
/**
 * The script in place of `gh`, which keeps comments in a file. Like GitHub, it refuses a comment of more than 65,536
 * characters.
 */
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

/**
 * The script in place of `npm`, which would take a second each time. For `npm run [--silent] PROGRAM -- WORD…` it
 * starts PROGRAM with the words.
 */
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

/** A person's comment, which quotes the marker of the workflow's comment. The workflow must not change this comment. */
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
  expectSuccess(await shell(`git ${command}`, walk.folder, {}));
}

async function commit(name: string, sql: string): Promise<void> {
  const created = await walk.run(`npm run --silent migrate -- new ${name}`);
  writeFileSync(/^created (\S+)/.exec(created.stdout)?.[1] ?? '', `-- Up Migration\n${sql};\n`);
  await git(`add migrations && git commit -qm ${name}`);
}

interface Event {
  readonly labels?: readonly string[];
  /** The role in the secret DATABASE_URL of the job's environment. */
  readonly role?: string;
  /** False if the pull request comes from a fork or from Dependabot. */
  readonly hasSecrets?: boolean;
}

/** Runs the steps of a job until one fails. Returns the status and the output of the last step that ran. */
async function runJob(job: Job, event: Event = {}): Promise<{ status: number | null; said: string }> {
  let outcome = { status: 0 as number | null, stdout: '', stderr: '' };
  for (const { run: command, env = {} } of job.steps) {
    const isAction = command === undefined;
    if (isAction || command === INSTALLATION || outcome.status !== 0) continue;
    writeFileSync(join(walk.folder, '.step.sh'), `PATH=$PWD:$PATH\n${command}`);
    outcome = await shell('bash -e .step.sh', walk.folder, fillIn({ ...job.env, ...env }, event));
  }
  return { status: outcome.status, said: outcome.stdout };
}

/** Returns the variables as GitHub would set them. */
function fillIn(
  variables: Environment,
  { labels = [], role = 'order_lookup_owner', hasSecrets = true }: Event,
): Record<string, string> {
  const values: Record<string, string> = {
    'secrets.DATABASE_URL': hasSecrets ? walk.world.database.urlOf(role) : '',
    'github.base_ref': 'main',
    'github.event.merge_group.base_sha': 'origin/main',
    'github.actor': 'ada',
    'github.repository': 'o/r',
    'github.event.number': '7',
    'github.token': 'token',
    'toJSON(github.event.pull_request.labels.*.name)': JSON.stringify(labels, undefined, 2),
  };
  const filled = Object.entries(variables).map(([name, text]) => {
    const value = text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_whole, expression: string) => {
      const found = values[expression];
      if (found === undefined) throw new Error(`${expression} has no value`);
      return found;
    });
    return [name, value];
  });
  return Object.fromEntries(filled) as Record<string, string>;
}

function labelInComment(): string {
  return /set the label `(callers informed [0-9a-f]{16})`\.\n/.exec(comments()[1]?.body ?? '')?.[1] ?? '';
}

function comments(): Comment[] {
  return JSON.parse(readFileSync(join(walk.folder, 'comments.json'), 'utf8')) as Comment[];
}

it('the workflow of docs/pipeline.md posts a plan as a comment, and stops if the plan can break clients', async () => {
  await commit('add_order_type', ADD_ORDER_TYPE);
  expectSuccess(await runJob(jobs.plan));
  expect(comments()[1]?.body).toContain('\n    + Transfer added\n');
  expect(labelInComment()).toBe('');
  await commit('retire_solicitor', REMOVE_PARTY_TYPE);
  expect(await runJob(jobs.plan)).toMatchObject({ status: 2 });
  // The workflow's comment has the new plan, and the person's comment stays
  const [quoting, own, ...others] = comments();
  expect(quoting).toEqual(FIRST_COMMENTS[0]);
  expect(own?.body).toMatch(/^<!-- order-lookup plan -->\nIf .*\n~+\n[^]*\n {2}! - Solicitor removed [^]*\n~+\n$/);
  expect(others).toEqual([]);
});

it.each([
  { job: 'plan', change: 'echo "-- changed" >>' },
  { job: 'plan', change: 'rm' },
  { job: 'check', change: 'rm' },
] as const)(
  'the job $job of docs/pipeline.md stops if the branch changes a merged migration with `$change`',
  async ({ job, change }) => {
    await shell(`${change} migrations/0001_create_code_tables.sql`, walk.folder, {});
    await git('commit -qam change');
    const said: unknown = expect.stringContaining('0001_create_code_tables');
    expect(await runJob(jobs[job])).toMatchObject({ status: 1, said });
    await git('reset -q --hard HEAD~1');
  },
);

it('the workflow of docs/pipeline.md checks the files of a merge queue without a database', async () => {
  expect(on).toHaveProperty('merge_group');
  const started = Object.entries(jobs).filter(([, job]) => job.if.includes("'merge_group'"));
  expect(started).toEqual([['check', jobs.check]]);
  expect(JSON.stringify(jobs.check)).not.toMatch(/secrets|environment/);
  expectSuccess(await runJob(jobs.check));
  await commit('add_nothing', '<<<<<<< HEAD'); // the marker of a conflict, which `check` refuses
  expect(await runJob(jobs.check)).toMatchObject({ status: 1 });
  await git('reset -q --hard HEAD~1');
});

it('the workflow of docs/pipeline.md continues if a label has the hash of the plan, until the plan changes', async () => {
  expect(await runJob(jobs.plan)).toMatchObject({ status: 2 });
  const label = labelInComment();
  expect(await runJob(jobs.plan, { labels: ['another label', label] })).toMatchObject({ status: 0, said: '' });
  await commit('add_many', ADD_200_CODES);
  expect(await runJob(jobs.plan, { labels: [label] })).toMatchObject({ status: 2 });
  expect(labelInComment()).not.toBe(label);
  expect(await runJob(jobs.plan, { labels: [labelInComment()] })).toMatchObject({ status: 0, said: '' });
});

it('the comment of docs/pipeline.md shows 20 of 200 new codes, and plan-full.txt shows all of them', async () => {
  const { body } = comments()[1] as Comment;
  expect(body).toContain('\n    … and 180 more (--full)\n'); // of 200 codes, MAX_LINES (20) are shown
  const whole = readFileSync(join(walk.folder, 'plan-full.txt'), 'utf8');
  expect(whole.match(/^ {4}\+ codeType "T", code "CODE-\d+", description "x{500}" added$/gm)).toHaveLength(200);
});

it('the workflow of docs/pipeline.md makes no plan for forks and Dependabot: it refuses their migrations', async () => {
  const said: unknown = expect.stringMatching(/^::error::No plan: a request from a fork /);
  expect(await runJob(jobs.plan, { hasSecrets: false })).toMatchObject({ status: 1, said });
  await git('update-ref refs/remotes/origin/main HEAD');
  expect(await runJob(jobs.plan, { hasSecrets: false })).toMatchObject({ status: 0, said: '' });
  await git('update-ref refs/remotes/origin/main HEAD~3'); // main again lacks the three commits of the earlier tests
});

it('the workflow of docs/pipeline.md gives the address of the database only to steps that need it', () => {
  expect(on).not.toHaveProperty('pull_request_target');
  expect(on).not.toHaveProperty('workflow_run');
  for (const job of Object.values(jobs)) {
    expect(JSON.stringify(job.env ?? {})).not.toContain('secrets');
    const withSecret = job.steps.filter(({ env }) => JSON.stringify(env ?? {}).includes('secrets'));
    // Only the step of the plan, and steps that begin with `npm run migrate`, have the secret. `npm ci` must not get it
    for (const { run: command } of withSecret)
      expect(command).toMatch(/^(?:if \[ -z "\$DATABASE_URL"|npm run migrate -- )/);
  }
});

it('the workflow of docs/pipeline.md warns, and does not fail, if GitHub refuses the comment', async () => {
  const { folder } = walk;
  const labels = [labelInComment()];
  writeFileSync(join(folder, 'gh'), '#!/bin/sh\nexit 1\n');
  expect(await runJob(jobs.plan, { labels })).toMatchObject({
    status: 0,
    said: expect.stringMatching(/^::warning::The plan is not posted: /),
  });
});

it('the workflow of docs/pipeline.md applies migrations, and the change history names the person', async () => {
  expectSuccess(await runJob(jobs.up));
  const rows = await walk.world.database.query(
    `select person from change_history where new_row ->> 'value' = 'Transfer'`,
  );
  expect(rows).toEqual([{ person: 'ada' }]);
});

it('the nightly job of docs/pipeline.md reports changes by hand, and no changes by migrations', async () => {
  const { database } = walk.world;
  const night = { role: 'order_lookup_service' };
  // PageWalk inserted the sample codes by hand
  await database.query(`delete from history where new_row ->> 'code_type' like 'SAMPLE-%'`);
  expectSuccess(await runJob(jobs.drift, night));
  await database.query(`update code_list_value set value = 'Fridge' where value = 'Refrigerated'`);
  expect(await runJob(jobs.drift, night)).toEqual({ status: 2, said: expect.stringContaining('Fridge') });
  // GitHub may skip nightly runs, so `drift` lists the changes of 90 days
  await database.query(`update history set changed_at = changed_at - interval '80 days'`);
  expect(await runJob(jobs.drift, night)).toEqual({ status: 2, said: expect.stringContaining('Fridge') });
});
