import { readFileSync } from 'node:fs';
import { afterAll, expect, it } from '@jest/globals';
import { PASSWORD, type TestDatabase, createDatabase } from '../../support/database.js';
import { type Outcome, run } from '../../support/program.js';
import { ProgramCopy } from '../../support/program-copy.js';

const database = await createDatabase();

/** A role of her own, as docs/administrators.md shows. */
const person = `ada_${database.name.slice(-12)}`;
await database.query(
  `create role ${person} login password '${PASSWORD}' in role order_lookup_owner;
     alter role ${person} set role = 'order_lookup_owner'`,
);
const copy = new ProgramCopy();
copy.environment = { DATABASE_URL: database.urlOf(person) };
afterAll(async () => {
  copy.remove();
  await database.query(`drop role ${person}`);
  await database.drop();
});

const NOTHING = {
  status: 0,
  stdout: 'Only migrations and the key commands changed something.\n',
  stderr: '',
};
const drift = (...words: string[]): Promise<Outcome> => copy.migrate('drift', ...words);
const keys = (...words: string[]): Promise<Outcome> => run('keys.js', words, copy.environment);
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

it('shows nothing after migrations and key commands, and the record names who ran them', async () => {
  copy.add('0100_add', `insert into code_list (name) values ('added'); reset role;`);
  copy.add('0101_make', 'create table made (x int);', 'drop table made;');
  const { stdout } = await copy.migrate('up');
  expect(stdout).toBe('applied  0100_add\napplied  0101_make\n'); // no word of drift
  const issued = await keys('issue', '--client', 'c', '--json');
  await keys('revoke', (JSON.parse(issued.stdout) as { id: string }).id);
  expect(await drift()).toEqual(NOTHING);
  expect(
    await database.query(
      `select distinct tableowner from pg_tables
         where schemaname = 'public' and tablename in ('pgmigrations', 'made', 'code_list')`,
    ),
  ).toEqual([{ tableowner: 'order_lookup_owner' }]);
  const added = `select database_user as by, migration
     from change_history where new_row ->> 'name' in ('added', '0100_add')`;
  const recorded = { by: person, migration: '0100_add' };
  expect(await database.query(added)).toEqual([recorded, recorded]);
});

it('shows what else was changed and by whom, whatever the session claims, and forgets nothing', async () => {
  await database.query(`update code_list_value set value = 'Flatbed' where value = 'FlatBed'`);
  await database.query(
    `begin; set local application_name = 'order-lookup-keys';
     set local order_lookup.person = 'Grace'; set local order_lookup.migration = '0100_add';
     insert into communication_code values ('T', 'a', 'x'); delete from api_key; commit`,
  );
  const { status, stdout, stderr } = await drift();
  expect({ status, stderr }).toEqual({ status: 2, stderr: '' });
  const row = (value: string): string =>
    `{"value": "${value}", "position": 2, "code_list": "equipmentType"}`;
  const [update, insert, ...others] = stdout.split('\n');
  expect(update).toMatch(new RegExp(`^${TIME}  postgres \\(tests\\)  UPDATE code_list_value `));
  expect(update).toContain(`${row('FlatBed')} → ${row('Flatbed')}`);
  expect(insert).toMatch(
    new RegExp(
      `^${TIME}  postgres \\(order-lookup-keys, says to be Grace, claims the migration 0100_add\\)  ` +
        'INSERT communication_code \\{.*"x".*\\}$',
    ),
  );
  expect(others).toEqual(['']); // a key command cannot be told from who takes its name

  expect(await copy.migrate('down', '--yes')).toMatchObject({ status: 0 });
  copy.add('0102_more', `insert into code_list (name) values ('more');`);
  expect((await copy.migrate('up')).stdout).toBe(
    'applied  0101_make\napplied  0102_more\n' +
      'There is drift (2): a change by hand, or an object that is not what the migrations made. ' +
      'See: node dist/migrate.js drift\n',
  );
  expect(await drift()).toMatchObject({ status: 2, stdout });
  expect(await drift('--since', '2999-01-01')).toEqual(NOTHING);
  expect(await drift('--since', 'yesterday')).toMatchObject({ status: 1 });
});

it('becomes a migration, which changes nothing here and everything elsewhere, and goes back', async () => {
  await database.query(
    `insert into code_list (name) values ('byHand');
       insert into code_list_value (code_list, value) values ('byHand', 'One'), ('byHand', 'Two');
     insert into area_property (area, property, code_list) values ('order-update', 'byHand', 'byHand');
     update code_list_value set position = position + 100 where code_list = 'byHand';
     delete from code_list_value where value = 'Two';
     update communication_code set description = 'it''s y', valid_from = '2027-01-01T00:00Z' where code = 'a';
     insert into communication_code values ('T', 'b', 'in vain'), ('T', 'c', 'by hand');
     delete from communication_code where code = 'b'`,
  );
  copy.add('0103_later', `update communication_code set description = 'later' where code = 'c';`);
  expect(await copy.migrate('up')).toMatchObject({ status: 0 });
  expect((await drift()).stdout).not.toContain('"by hand"'); // a migration has written the row since
  const created = await drift('--to-migration', 'keep_what_was_changed');
  expect(created.stdout).toMatch(/^created .*\/0104_keep_what_was_changed\.sql\n$/);
  const elsewhere = await createDatabase();
  const contents = (where: TestDatabase) =>
    where.query(
      `select 'value' as what, to_jsonb(v)::text as row
         from code_list_value v union all select 'code', to_jsonb(c)::text from communication_code c
        union all select 'property', to_jsonb(p)::text from area_property p order by 1, 2`,
    );
  const [all, original] = [await contents(database), await contents(elsewhere)];
  const here = all.filter(({ row }) => !`${row}`.includes('"c"')); // that row is a migration's
  expect(await copy.migrate('up')).toMatchObject({ status: 0 });
  expect(await contents(database)).toEqual(all);
  // What is left came and went by hand: no migration can write it
  expect((await drift()).stdout).toMatch(/^(\S+ .*("Two"|"in vain").*\n)*$/);
  copy.environment = { DATABASE_URL: elsewhere.urlOf('order_lookup_owner') };
  expect(await copy.migrate('up')).toMatchObject({ status: 0, stderr: '' });
  expect(await contents(elsewhere)).toEqual(here);
  expect(await drift()).toEqual(NOTHING);
  expect(await copy.migrate('down', '--yes')).toMatchObject({ status: 0, stderr: '' });
  expect(await contents(elsewhere)).toEqual(original);
  expect(readFileSync(`${copy.migrations}/0104_keep_what_was_changed.sql`, 'utf8')).not.toContain(
    'in vain',
  );
  await elsewhere.drop();
  copy.environment = { DATABASE_URL: database.urlOf(person) };
});

it.each([
  [
    `update code_list_value set value = 'Train' where value = 'Rail'`,
    `update code_list_value set value = 'Railway' where value = 'Train';`,
    /^A migration changed the same row later\. Write the migration yourself: .*"Rail"/,
  ],
  [
    `insert into communication_code values ('T', 'N', 'by hand')`,
    `update communication_code set code = 'M' where code = 'N';`,
    /^No code was changed by hand\. Nothing was written\.\n$/,
  ],
])(
  'becomes no migration where that would be wrong: %s, then %s',
  async (byHand, later, message) => {
    const other = await createDatabase();
    await other.query(byHand);
    const names = new ProgramCopy();
    names.environment = { DATABASE_URL: other.urlOf('order_lookup_owner') };
    names.add('0100_later', later);
    expect(await names.migrate('up')).toMatchObject({ status: 0 });
    expect(await names.migrate('drift', '--to-migration', 'by_hand')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
    names.remove();
    await other.drop();
  },
);

it('names objects that are not what the migrations made', async () => {
  await database.query(
    `alter table code_list disable trigger record_insert; drop trigger record_delete on code_list`,
  );
  copy.add('0105_more', 'select 1;');
  expect((await copy.migrate('up')).stdout).toContain('\nThere is drift (');
  const lines = (await drift()).stdout.split('\n').slice(-3);
  expect(lines).toEqual([
    expect.stringMatching(
      /^trigger record_delete of code_list is missing\. As the owner: drop trigger/,
    ),
    expect.stringMatching(/^trigger record_insert of code_list is switched off\. /),
    '',
  ]);
});

it('shows what else is done under the name of the demo', async () => {
  await database.query(`insert into communication_code values ('REAL', 'a', 'x')`);
  await database.query(
    `begin; set local application_name = 'order-lookup-demo';
       update communication_code set code_type = 'SAMPLE-X' where code_type = 'REAL';
       delete from code_list_value where value = 'Solicitor'; commit`,
  );
  const { stdout } = await drift();
  expect(stdout).toMatch(/UPDATE communication_code .*"REAL".* → .*"SAMPLE-X"/);
  expect(stdout).toMatch(/DELETE code_list_value .*"Solicitor"/);
});

it('shows the first thousand changes and counts the others', async () => {
  const other = await createDatabase();
  await other.query(
    `insert into communication_code select 'BULK', n::text, 'by hand' from generate_series(1, 1002) as n`,
  );
  const { stdout } = await run('migrate.js', ['drift'], {
    DATABASE_URL: other.urlOf('order_lookup_owner'),
  });
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(1_001);
  expect(lines.at(-1)).toBe('… and 2 later changes. To see them: --since');
  await other.drop();
});
