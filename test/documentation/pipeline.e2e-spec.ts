// The workflow of docs/pipeline.md: its commands are run as the page has them, step by step, with a `gh` that keeps
// what it is told.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { DEMO_APPLICATION, KEYS_APPLICATION } from '../../src/administration/applications.js';
import { blocksOf } from '../support/documentation.js';
import { PageWalk } from '../support/page-walk.js';
import { PROJECT, shell } from '../support/program.js';

interface Job {
  readonly env: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly run?: string }[];
}

const { jobs } = parse(
  blocksOf('docs/pipeline.md').find(({ language }) => language === 'yaml')?.text ?? '',
) as { jobs: Readonly<Record<'plan' | 'up' | 'drift', Job>> };
const INSTALLATION = 'npm ci && npm run build';
const ADD = `insert into code_list_value (code_list, value) values ('orderType', 'Transfer')`;
const RETIRE = `delete from code_list_value where code_list = 'partyType' and value = 'Solicitor'`;
/** Keeps the comment that it is told to write. */
const GH = `#!/bin/sh
while [ "$1" != --body-file ]; do shift; done
cp "$2" comment.txt
`;

const walk = new PageWalk({ replicas: 0 });
beforeAll(async () => {
  cpSync(join(PROJECT, '.gitignore'), join(walk.folder, '.gitignore'));
  writeFileSync(join(walk.folder, 'gh'), GH, { mode: 0o755 });
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
      .replace('${{ github.actor }}', 'ada')
      .replace(/\$\{\{ contains.*?\}\}/, String(informed)),
  ) as Record<string, string>;
  const comment = join(walk.folder, 'comment.txt');
  rmSync(comment, { force: true });
  let outcome = { status: 0 as number | null, stdout: '', stderr: '' };
  for (const { run: command = INSTALLATION } of job.steps) {
    if (command === INSTALLATION || outcome.status !== 0) continue;
    writeFileSync(join(walk.folder, '.step.sh'), `PATH=$PWD:$PATH\n${command}`);
    outcome = await shell('bash -e .step.sh', walk.folder, environment);
  }
  const said = existsSync(comment) ? readFileSync(comment, 'utf8') : outcome.stdout;
  return { status: outcome.status, said };
}

it('the workflow of docs/pipeline.md comments a plan, and stops where it breaks clients', async () => {
  await commit('add_order_type', ADD);
  const added = expect.stringContaining('+ value orderType: Transfer added');
  expect(await run(jobs.plan)).toEqual({ status: 0, said: added });
  await commit('retire_solicitor', RETIRE);
  const removed = expect.stringContaining('! - value partyType: Solicitor removed');
  expect(await run(jobs.plan)).toEqual({ status: 2, said: removed });
  expect(await run(jobs.plan, true)).toMatchObject({ status: 0 });
});

it('the workflow of docs/pipeline.md applies, and names the person in the record of changes', async () => {
  expect(await run(jobs.up)).toMatchObject({ status: 0 });
  const rows = await walk.world.database.query(
    `select person from change_history where new_row ->> 'value' = 'Transfer'`,
  );
  expect(rows).toEqual([{ person: 'ada' }]);
});

it('the workflow of docs/pipeline.md finds at night what was changed by hand, and nothing else', async () => {
  const { database } = walk.world;
  // Key and samples of this world were not made by a command and by the demo
  await database.query(
    `update history
       set application = case table_name when 'api_key' then '${KEYS_APPLICATION}' else '${DEMO_APPLICATION}' end
       where migration is null`,
  );
  expect(await run(jobs.drift)).toMatchObject({ status: 0 });
  await database.query(`update code_list_value set value = 'Fridge' where value = 'Refrigerated'`);
  expect(await run(jobs.drift)).toEqual({ status: 2, said: expect.stringContaining('Fridge') });
});
