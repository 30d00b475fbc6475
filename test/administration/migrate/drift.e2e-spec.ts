import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PASSWORD, type TestDatabase, createDatabase } from '../../support/database.js';
import { type Outcome, run } from '../../support/program.js';
import { ProgramCopy } from '../../support/program-copy.js';

let copy: ProgramCopy;
let database: TestDatabase;
let person: string;

beforeAll(async () => {
  copy = new ProgramCopy();
  database = await createDatabase({ migrated: false });
  // A role of her own, as docs/administrators.md shows
  person = `ada_${database.name.slice(-12)}`;
  await database.query(
    `create role ${person} login password '${PASSWORD}' in role order_lookup_owner;
     alter role ${person} set role = 'order_lookup_owner'; grant usage, create on schema public to order_lookup_owner`,
  );
  copy.environment = {
    DATABASE_URL: Object.assign(new URL(database.url), { username: person, password: PASSWORD })
      .href,
  };
});
afterAll(async () => {
  copy.remove();
  await database.drop();
});

const NOTHING = {
  status: 0,
  stdout: 'Only migrations and the key commands changed something.\n',
  stderr: '',
};
const drift = (): Promise<Outcome> => copy.migrate('drift');
const keys = (...words: string[]): Promise<Outcome> => run('keys.js', words, copy.environment);
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

it('needs the migrations', async () => {
  expect(await drift()).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/Apply the migrations first: migrate up\n$/),
  });
});

it('shows nothing after migrations and key commands, and the record names who ran them', async () => {
  copy.add('0100_add', `insert into code_list (name) values ('added'); reset role;`);
  copy.add('0101_make', 'create table made (x int);', 'drop table made;');
  expect(await copy.migrate('up')).toMatchObject({ status: 0, stderr: '' });
  const { id } = JSON.parse((await keys('issue', '--client', 'c', '--json')).stdout) as {
    id: string;
  };
  await keys('rotate', id);
  await keys('revoke', id);
  expect(await drift()).toEqual(NOTHING);
  expect(
    await database.query(
      `select distinct tableowner from pg_tables where schemaname = 'public' and tablename in ('applied_migration', 'made', 'code_list')`,
    ),
  ).toEqual([{ tableowner: 'order_lookup_owner' }]);
  expect(await database.query('select distinct applied_by as by from applied_migration')).toEqual([
    { by: person },
  ]);
  expect(
    await database.query(
      `select database_user as by, migration from change_history where new_row ->> 'name' = 'added'`,
    ),
  ).toEqual([{ by: person, migration: '0100_add' }]);
});

it('shows what else was changed and by whom, until the next migration', async () => {
  await database.query(`update code_list_value set value = 'Flatbed' where value = 'FlatBed'`);
  await database.query(
    `begin; set local application_name = 'order-lookup-keys'; set local order_lookup.person = 'Grace';
     insert into communication_code values ('T', 'a', 'x'); delete from api_key; commit`,
  );
  const { status, stdout, stderr } = await drift();
  expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
  const row = (value: string): string =>
    `{"value":"${value}","position":2,"code_list":"equipmentType"}`;
  const [update, insert, ...others] = stdout.split('\n');
  expect(update).toMatch(new RegExp(`^${TIME}  postgres \\(tests\\)  UPDATE code_list_value `));
  expect(update).toContain(`${row('FlatBed')} → ${row('Flatbed')}`);
  expect(insert).toMatch(
    new RegExp(`^${TIME}  Grace \\(order-lookup-keys\\)  INSERT communication_code \\{.*"x".*\\}$`),
  );
  expect(others).toEqual(['']); // a key command cannot be told from who takes its name
  const { changes, count } = JSON.parse((await copy.migrate('drift', '--json')).stdout) as {
    changes: object[];
    count: number;
  };
  expect({ shown: changes.length, count }).toEqual({ shown: 2, count: 2 });

  expect(await copy.migrate('down')).toMatchObject({ status: 0 });
  copy.add('0102_more', `insert into code_list (name) values ('more');`);
  expect(await copy.migrate('up')).toMatchObject({ status: 0 });
  expect(await drift()).toEqual(NOTHING);
});

it('shows the first thousand of many, and says so where changes may be missing', async () => {
  await database.query(
    `insert into communication_code select 'T', n::text, 'Many' from generate_series(1, 1500) n`,
  );
  expect((await drift()).stdout.split('\n').slice(1000)).toEqual(['… and 500 more', '']);
  await database.query(
    `alter table code_list disable trigger all; delete from code_list where name = 'more'; alter table code_list enable trigger all`,
  );
  expect((await drift()).stdout).toContain(
    'The record of changes may lack changes of code_list: triggers were disabled,',
  );
  copy.add('0103_acknowledge', 'select 1;');
  expect(await copy.migrate('up')).toMatchObject({ status: 0 });
  expect(await drift()).toEqual(NOTHING);
  expect(
    await database.query(
      `select migration from change_history where operation = 'GAP' order by id desc limit 1`,
    ),
  ).toEqual([{ migration: '0103_acknowledge' }]);
});
