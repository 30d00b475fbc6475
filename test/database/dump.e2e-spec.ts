// Dumps and restores a database with pg_dump and pg_restore (Debian's postgresql-client). pg_dump refuses a server that
// is newer than itself. If yours is older, set TEST_POSTGRES_CLIENT to a folder with programs of the server's version.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase, queryAt } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/api-keys.js';
import { runLine } from '../support/local-program.js';
import { readBlocks } from '../support/pages.js';
import { readText } from '../support/program.js';
import { useTestFolder } from '../support/test-folder.js';

const CLIENT = process.env['TEST_POSTGRES_CLIENT'] ?? '';
const pathOf = (name: string): string => (CLIENT ? join(CLIENT, name) : name);

const [server] = await queryAt(
  process.env['TEST_POSTGRES_URL'] ?? '',
  `select current_setting('server_version') as version`,
);

/** Returns the major version of pg_dump, or 0 if it is not installed. */
function readPgDumpVersion(): number {
  const { stdout } = spawnSync(pathOf('pg_dump'), ['--version'], { encoding: 'utf8' });
  const [, major = '0'] = /\) (\d+)/.exec(stdout ?? '') ?? [];
  return Number(major);
}

function runClient([name = '', ...words]: readonly string[]): void {
  const { status, stderr } = spawnSync(pathOf(name), words, { encoding: 'utf8' });
  expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' });
}

/** Runs pg_restore, which continues after an error. Returns all its errors. */
function runRestore([name = '', ...words]: readonly string[]): string[] {
  const { stderr } = spawnSync(pathOf(name), words, { encoding: 'utf8' });
  return stderr.match(/ERROR: .*/g) ?? [];
}

/** The two commands of docs/operators.md. */
const [dump = '', restore = ''] =
  readBlocks('docs/operators.md')
    .find(({ text }) => text.startsWith('pg_dump'))
    ?.text.split('\n') ?? [];
const folder = useTestFolder();

const serverVersion = Number.parseInt(String(server?.['version']), 10);
const isDumpable = readPgDumpVersion() >= serverVersion;
if (!isDumpable) {
  process.stderr.write(`SKIPPED: dump and restore need pg_dump ${serverVersion}; found: ${readPgDumpVersion()}.\n`);
}

interface Case {
  readonly addition: string;
  /** SQL that others have run in the old database, as a superuser. */
  readonly sql: string;
  /** An option of pg_dump that docs/operators.md names. */
  readonly option?: readonly string[];
  /** SQL that removes a role between dump and restore, because a new server would not have the role. */
  readonly removal?: string;
  /** Matches the errors of pg_restore that do not matter: docs/operators.md says that you can ignore them. */
  readonly errors?: RegExp;
}

(isDumpable ? describe : describe.skip)('a database that its owner dumped and restored', () => {
  const OWNER = 'order_lookup_owner';
  const databases = new Set<TestDatabase>();
  let issuer: Issuer;
  beforeAll(async () => {
    issuer = await Issuer.start();
  });
  afterAll(async () => {
    await issuer.close();
    for (const each of databases) await each.drop();
  });

  /** Makes an empty database as docs/operators.md describes it. 1-roles.sql keeps the roles that the server has. */
  async function createEmpty(): Promise<TestDatabase> {
    const empty = await createDatabase({ migrated: false });
    await empty.query(readText('deploy/database/1-roles.sql'));
    databases.add(empty);
    return empty;
  }

  it.each([
    { addition: 'nothing', sql: '' },
    { addition: 'another owner of public', sql: 'alter schema public owner to postgres' },
    { addition: 'an extension in public', sql: 'create extension pg_stat_statements; create extension citext' },
    {
      addition: 'an extension in a schema of its own',
      sql: 'create schema others; create extension hstore schema others',
    },
    { addition: 'a publication', sql: 'create publication everything for all tables' },
    {
      addition: 'an event trigger',
      sql: `create function watch() returns event_trigger language plpgsql as 'begin end';
        create event trigger watch on ddl_command_end execute function watch()`,
    },
    { addition: 'a table in public', sql: 'create table theirs (id int)', option: ['--exclude-table=theirs'] },
    {
      addition: 'a view in public of a table in another schema',
      sql: `create schema elsewhere; create table elsewhere.names (name text);
        create view theirs as select code from communication_code join elsewhere.names on name = code;
        grant usage on schema elsewhere to order_lookup_owner; grant select on theirs to order_lookup_owner`,
      errors: /"elsewhere|"public\.theirs"/,
    },
    {
      addition: 'rights and default privileges of roles that the new server lacks',
      sql: `create role reporting; grant select on communication_code to reporting;
        alter default privileges for role order_lookup_owner in schema public grant select on tables to reporting`,
      removal: 'drop owned by reporting; drop role reporting',
      errors: /role "reporting" does not exist/,
    },
  ] as readonly Case[])(
    'has the same codes and drift, and the doctor finds no fault, if others had added $addition',
    async ({ sql, option = [], removal, errors }) => {
      const database = await createDatabase();
      databases.add(database);
      await issueKey(database);
      await database.query(
        `insert into communication_code (code_type, code, description, valid_from)
         values ('T', 'dumped', 'it''s "é"', '2027-01-01T00:00Z');
       update code_list_value set position = position + 10 where code_list = 'orderType';
       delete from code_list_value where value = 'Best'`,
      );
      await database.query(`update communication_code set description = 'changed' where code = 'dumped'`);
      const original = { DATABASE_URL: database.urlOf(OWNER) };
      const shown = await runLine('codes show', original);
      expect(shown).toMatchObject({ status: 0, stderr: '' });
      const drift = await runLine('migrate drift', original); // lists the changes above, which no migration made
      expect(drift).toMatchObject({ status: 2 });

      await database.query(sql);
      const file = join(folder, 'order_lookup.dump');
      // Splits a command such as `pg_dump --file=order_lookup.dump --dbname "$OWNER_DATABASE_URL"`
      const toWords = (command: string, url: string): string[] =>
        command
          .replace(/"\$\w+"/, url)
          .replace('order_lookup.dump', file)
          .split(' ');
      const copy = await createEmpty();
      runClient([...toWords(dump, database.urlOf(OWNER)), ...option]);
      if (removal !== undefined) await database.query(removal);
      expect(runRestore(toWords(restore, copy.urlOf(OWNER))).filter((line) => !errors?.test(line))).toEqual([]);

      const restoredCopy = { DATABASE_URL: copy.urlOf(OWNER) };
      expect(await runLine('codes show', restoredCopy)).toEqual(shown);
      expect(await runLine('migrate drift', restoredCopy)).toEqual(drift);
      const doctor = await runLine('doctor', {
        ...issuer.environment,
        DATABASE_URL: copy.urlOf('order_lookup_service'),
      });
      expect(doctor.stdout).toMatch(/^ok +triggers/m);
      expect(doctor).toMatchObject({ status: 0, stderr: '' });
    },
  );
});
