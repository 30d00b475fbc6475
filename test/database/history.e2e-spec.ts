import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../support/database.js';

let database: TestDatabase;
let since: string;

const history = (columns = 'table_name, operation, old_row, new_row') =>
  database.query(`select ${columns} from change_history where id > $1 order by id`, [since]);

beforeAll(async () => {
  database = await createDatabase();
});
beforeEach(async () => {
  await database.query('truncate communication_code, api_key');
  const [row] = await database.query<{ max: string }>('select max(id) from change_history');
  since = String(row?.max);
});
afterAll(() => database.drop());

const code = (name: string, description: string) => ({
  code_type: 'T',
  code: name,
  description,
  valid_from: null,
  valid_until: null,
});
const INSERT = `insert into communication_code (code_type, code, description) values ('T', 'a', '1'), ('T', 'b', '2')`;

describe('change_history', () => {
  it('records every row of every statement, old and new', async () => {
    await database.query(INSERT);
    await database.query(`update communication_code set code = code || 'x', description = '9'`);
    await database.query(`delete from communication_code where code = 'ax'`);
    await database.query('truncate communication_code');
    const table = { table_name: 'communication_code' };
    expect(await history()).toEqual([
      { ...table, operation: 'INSERT', old_row: null, new_row: code('a', '1') },
      { ...table, operation: 'INSERT', old_row: null, new_row: code('b', '2') },
      { ...table, operation: 'UPDATE', old_row: code('a', '1'), new_row: code('ax', '9') },
      { ...table, operation: 'UPDATE', old_row: code('b', '2'), new_row: code('bx', '9') },
      { ...table, operation: 'DELETE', old_row: code('ax', '9'), new_row: null },
      { ...table, operation: 'TRUNCATE', old_row: null, new_row: null },
      { ...table, operation: 'TRUNCATE', old_row: code('bx', '9'), new_row: null },
    ]);
  });

  it.each([
    ['', `select pg_sleep(0.3)`],
    ['set constraints all immediate', `select pg_sleep(0.3)`],
    ['', `select pg_sleep(0.3); set constraints all immediate`],
  ])('tells the moment of the commit (%s; …; %s)', async (first, last) => {
    await database.query(`begin; ${first}; ${INSERT}; ${last}; commit`);
    expect(
      await database.query(
        `select committed_at >= begun_at + interval '0.3 seconds' and committed_at < clock_timestamp() as told
         from recorded_transaction order by begun_at desc limit 1`,
      ),
    ).toEqual([{ told: true }]);
  });

  it('records who changed it: user, application, migration and person', async () => {
    await database.query(
      `begin; set local order_lookup.migration = '0042_add_codes'; set local order_lookup.person = 'Ada'; ${INSERT}; commit`,
    );
    await database.query(`delete from communication_code`);
    const who = { database_user: 'postgres', application: 'tests' };
    expect(await history('database_user, application, migration, person')).toEqual([
      ...Array(2).fill({ ...who, migration: '0042_add_codes', person: 'Ada' }),
      ...Array(2).fill({ ...who, migration: null, person: null }),
    ]);
  });

  it('records rows in the same form whatever the session has set', async () => {
    const insert = `insert into communication_code values ('T', 'a', '1', '2030-01-01T00:00:00z', '2031-01-01T00:00:00z')`;
    await database.query(
      `begin; set local timezone = 'Asia/Tokyo'; set local datestyle = 'German'; set local search_path = pg_temp;
       ${insert.replace('communication_code', 'public.communication_code')}; commit`,
    );
    expect(await history('new_row')).toEqual([
      {
        new_row: {
          ...code('a', '1'),
          valid_from: '2030-01-01T00:00:00+00:00',
          valid_until: '2031-01-01T00:00:00+00:00',
        },
      },
    ]);
  });

  it('is trimmed with the help of an index', async () => {
    const indexes = await database.query(
      `select distinct tablename from pg_indexes where indexdef like '%(begun_at, transaction_id)' order by tablename`,
    );
    expect(indexes.map(({ tablename }) => tablename as string)).toEqual(
      expect.arrayContaining(['history', 'recorded_transaction']),
    );
  });

  it('never holds the hash of a key, and tells that one was exchanged', async () => {
    await database.query(`insert into api_key (client, key_hash) values ('c', sha256('1'))`);
    await database.query(`update api_key set key_hash = sha256('2')`);
    await database.query('delete from api_key');
    const rows = (await history()) as {
      operation: string;
      old_row: object | null;
      new_row: object | null;
    }[];
    expect(rows.map(({ operation }) => operation)).toEqual(['INSERT', 'UPDATE', 'DELETE']);
    for (const row of rows.flatMap(({ old_row: old, new_row: now }) => [old, now]))
      if (row)
        expect(Object.keys(row).toSorted()).toEqual([
          'client',
          'created_at',
          'expires_at',
          'id',
          'revoked_at',
        ]);
  });

  it('holds nothing of what was rolled back', async () => {
    await database.query(`begin; ${INSERT}; rollback`);
    expect(await history()).toEqual([]);
  });
});
