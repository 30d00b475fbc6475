import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PASSWORD, type TestDatabase, createDatabase } from '../../support/database.js';
import type { Outcome } from '../../support/program.js';
import { useProgramCopy } from '../../support/project-copy.js';

const { copy, database: first } = await useProgramCopy();

/** A role for one person, made as docs/operators.md shows. */
const person = `ada_${first.name.slice(-12)}`;
await first.query(
  `create role ${person} login password '${PASSWORD}' in role order_lookup_owner;
   alter role ${person} set role = 'order_lookup_owner'`,
);

/** The database of the present test. Each test has its own. */
let database: TestDatabase;
const databases: TestDatabase[] = [];
beforeEach(async () => {
  database = await createDatabase();
  databases.push(database);
  copy.environment = { DATABASE_URL: database.urlOf(person) };
});
afterAll(async () => {
  await database?.query(`drop role ${person}`);
  for (const each of databases) await each.drop();
});

const NO_DRIFT: Outcome = {
  status: 0,
  stdout: 'No drift in the last 90 days.\n',
  stderr: '',
};
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

function migrate(...words: string[]): Promise<Outcome> {
  return copy.run('migrate', ...words);
}

async function migrateUp(): Promise<string> {
  const { status, stdout, stderr } = await migrate('up');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

describe('migrate drift', () => {
  it('shows no change that a migration made, and the history names who ran the migration', async () => {
    copy.add('0100_add', `insert into code_list (name) values ('added');`);
    await migrateUp();
    expect(await migrate('drift')).toEqual(NO_DRIFT);
    // The migration has two rows in the history: one for the new list, and one for its name in pgmigrations
    const added = `select database_user as by, migration
      from change_history where new_row ->> 'name' in ('added', '0100_add')`;
    const recorded = { by: person, migration: '0100_add' };
    expect(await database.query(added)).toEqual([recorded, recorded]);
  });

  it('shows each change that no migration made, and who made it, also if the session claims to be a migration', async () => {
    copy.add('0101_make', 'create table made (x int);', 'drop table made;');
    await migrateUp();
    // The pause puts the next change into another millisecond, so that --since below finds only that change
    await database.query(`update code_list_value set value = 'Flatbed' where value = 'FlatBed'; select pg_sleep(0.01)`);
    await database.query(
      `begin; set local application_name = 'order-lookup-keys';
       set local order_lookup.person = 'Grace'; set local order_lookup.migration = '0100_add';
       insert into communication_code values ('T', 'a', 'x'); commit`,
    );
    const outcome = await migrate('drift');
    expect(outcome).toMatchObject({ status: 2, stderr: '' });
    const [update = '', insert = '', ...rest] = outcome.stdout.split('\n');
    expect(update).toMatch(new RegExp(`^${TIME}  postgres \\(tests\\)  UPDATE code_list_value `));
    const row = (value: string): string => `{"value": "${value}", "position": 2, "code_list": "equipmentType"}`;
    expect(update).toContain(`${row('FlatBed')} → ${row('Flatbed')}`);
    expect(insert).toMatch(
      new RegExp(
        `^${TIME}  postgres \\(order-lookup-keys, claims to be Grace, claims the migration 0100_add\\)  ` +
          'INSERT communication_code \\{.*"x".*\\}$',
      ),
    );
    expect(rest).toEqual(['']);

    const [insertedAt = ''] = insert.split(' ');
    expect(await migrate('drift', '--since', insertedAt)).toMatchObject({ stdout: `${insert}\n` });

    expect(await migrate('down', '--yes')).toMatchObject({ status: 0, stderr: '' });
    copy.add('0102_more', `insert into code_list (name) values ('more');`);
    await migrateUp();
    expect(await migrate('drift')).toEqual(outcome);
    const stdout = 'No drift since 2999-01-01T00:00:00Z.\n';
    expect(await migrate('drift', '--since', '2999-01-01')).toEqual({ ...NO_DRIFT, stdout });
    expect(await migrate('drift', '--since', 'yesterday')).toMatchObject({ status: 1 });
  });

  it('lists changes of keys separately, with login and program, and keeps the status 0', async () => {
    const issued = await copy.run('keys', 'issue', '--client', 'Acme', '--json');
    const { id } = JSON.parse(issued.stdout) as { id: string };
    await database.query(
      `begin; set local application_name = 'order-lookup-keys';
       insert into api_key (client, key_hash) values ('By hand', sha256('x')); commit`,
    );
    const { status, stdout } = await migrate('drift');
    expect(status).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'No drift in the last 90 days.',
      '',
      'Changes of API keys, which are no drift, by login and program:',
      expect.stringMatching(`^${TIME}  ${person} \\(order-lookup-keys\\)  INSERT api_key \\{.*${id}.*Acme.*\\}$`),
      expect.stringMatching(`^${TIME}  postgres \\(order-lookup-keys\\)  INSERT api_key \\{.*By hand.*\\}$`),
      '',
    ]);
    expect(stdout).not.toContain('key_hash');
  });

  it('lists a rename by hand until migrations have written a row with the old name and one with the new name', async () => {
    await database.query(
      `update code_list_value set value = 'Fridge' where value = 'Refrigerated';
       insert into communication_code values ('T', 'N', 'by hand')`,
    );
    copy.add(
      '0100_half',
      `update communication_code set description = 'later' where code = 'N';
       update code_list_value set value = 'Cold' where value = 'Fridge';`,
    );
    await migrateUp();
    const half = await migrate('drift'); // no migration has written a row with the old name yet
    expect(half.stdout).toMatch(/^\S+ .*"Refrigerated".* → .*"Fridge".*\n$/);
    copy.add(
      '0101_whole',
      `update code_list_value set value = 'Refrigerated' where value = 'Cold';
       update code_list_value set value = 'Fridge' where value = 'Refrigerated';`,
    );
    await migrateUp();
    expect(await migrate('drift')).toEqual(NO_DRIFT);
  });

  it('shows the first thousand changes of the last 90 days, and the number of the others', async () => {
    await database.query(
      `insert into communication_code select 'BULK', n::text, 'by hand' from generate_series(1, 1003) as n;
       update history set changed_at = now() - interval '91 days' where new_row ->> 'code' = '1'`,
    );
    const { status, stdout, stderr } = await migrate('drift');
    expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(1_001);
    expect(lines[0]).toContain('"code": "2"'); // code 1 was changed more than 90 days ago
    expect(lines[999]).toContain('"code": "1001"');
    expect(lines[1_000]).toBe('… and 2 later changes. To see them, add --since and the time of the line above');
  });
});

it('if a person applies migrations, new tables belong to order_lookup_owner, also after `reset role`', async () => {
  copy.add('0100_reset', 'reset role;');
  copy.add('0101_make', 'create table made (x int);');
  await migrateUp();
  const owners = `select tableowner from pg_tables where schemaname = 'public' and tablename = 'made'`;
  expect(await database.query(owners)).toEqual([{ tableowner: 'order_lookup_owner' }]);
});
