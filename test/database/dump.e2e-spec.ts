// A database that was dumped and restored, by PostgreSQL's own programs. Debian's package postgresql-client has them;
// TEST_POSTGRES_CLIENT names a folder with those of another version. A pg_dump that is older than the server refuses.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase, queryAt } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { runLocally } from '../support/local-program.js';
import { type Outcome, textOf } from '../support/program.js';

const CLIENT = process.env['TEST_POSTGRES_CLIENT'] ?? '';
const pathOf = (name: string): string => (CLIENT ? join(CLIENT, name) : name);

const [server] = await queryAt(
  process.env['TEST_POSTGRES_URL'] ?? '',
  `select current_setting('server_version') as version`,
);

/** The major version of pg_dump, or 0 where there is none. */
function versionOfPgDump(): number {
  const { stdout } = spawnSync(pathOf('pg_dump'), ['--version'], { encoding: 'utf8' });
  const [, major = '0'] = /\) (\d+)/.exec(stdout ?? '') ?? [];
  return Number(major);
}

function runClient(name: string, words: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync(pathOf(name), words, {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 27,
  });
  // The rights on the schema `public` are there already, and are not the owner's to give
  const faults = stderr.replaceAll(/^WARNING: {2}no privileges (were granted|could be revoked) .*\n/gm, '');
  expect({ name, status, faults }).toEqual({ name, status: 0, faults: '' });
  return stdout;
}

const isDumpable = versionOfPgDump() >= Number.parseInt(String(server?.['version']), 10);
const describeWhereDumpable = isDumpable ? describe : describe.skip;

function run(line: string, environment: Record<string, string>): Promise<Outcome> {
  const [program = '', ...words] = line.split(' ');
  return runLocally({ program: `dist/${program}.js`, words, environment });
}

describeWhereDumpable('a database that its owner dumped and restored', () => {
  const OWNER = 'order_lookup_owner';
  const restored = new Set<TestDatabase>();
  let database: TestDatabase;
  let issuer: Issuer;
  beforeAll(async () => {
    database = await createDatabase();
    issuer = await Issuer.start();
  });
  afterAll(async () => {
    await issuer.close();
    for (const each of [database, ...restored]) await each.drop();
  });

  /** As docs/operators.md has it: the rights of the roles, but not the roles, which this server has already. */
  async function createEmpty(): Promise<TestDatabase> {
    const empty = await createDatabase({ migrated: false });
    const roles = textOf('deploy/database/1-roles.sql');
    await empty.query(roles.replaceAll(/^(create role|grant order_lookup_\w+ to) .*$/gm, ''));
    restored.add(empty);
    return empty;
  }

  it.each([
    { how: 'as it is', options: [] },
    { how: 'with --no-owner', options: ['--no-owner'] },
  ])('is served as before, without a finding: $how', async ({ options }) => {
    await issueKey(database);
    await database.query(
      `insert into communication_code (code_type, code, description, valid_from)
         values ('T', 'dumped', 'it''s "é"', '2027-01-01T00:00Z') on conflict do nothing;
       update code_list_value set position = position + 10 where code_list = 'orderType';
       delete from code_list_value where value = 'Best'`,
    );
    await database.query(`update communication_code set description = 'changed' where code = 'dumped'`);
    const original = { DATABASE_URL: database.urlOf(OWNER) };
    const shown = await run('codes show', original);
    expect(shown).toMatchObject({ status: 0 });
    const drift = await run('migrate drift', original); // changes by hand
    expect(drift).toMatchObject({ status: 2 });

    const dump = runClient('pg_dump', [...options, '--dbname', database.urlOf(OWNER)]);
    const copy = await createEmpty();
    runClient('psql', ['-q', '-X', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', copy.urlOf(OWNER)], dump);

    const restoredCopy = { DATABASE_URL: copy.urlOf(OWNER) };
    expect(await run('codes show', restoredCopy)).toEqual(shown);
    expect(await run('migrate drift', restoredCopy)).toEqual(drift);
    const doctor = await run('doctor', {
      ...issuer.environment,
      DATABASE_URL: copy.urlOf('order_lookup_service'),
    });
    expect(doctor.stdout).toMatch(/^ok +triggers/m);
    expect(doctor).toMatchObject({ status: 0, stderr: '' });
  });
});
