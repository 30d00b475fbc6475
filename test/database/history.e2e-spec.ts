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

const code = (name: string, description: string) => ({ code_type: 'T', code: name, description });
const INSERT = `insert into communication_code (code_type, code, description) values ('T', 'a', '1'), ('T', 'b', '2')`;

describe('change_history', () => {
  it('tells every row of every statement, old and new', async () => {
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
    ]);
  });

  it('tells when, in which transaction, which user and which application', async () => {
    const [before] = await database.query<{ now: Date }>('select clock_timestamp() as now');
    await database.query(INSERT);
    const rows = (await history('changed_at, transaction_id, database_user, application')) as {
      changed_at: Date;
      transaction_id: string;
    }[];
    expect(rows).toEqual(
      Array(2).fill({
        changed_at: expect.any(Date),
        transaction_id: rows[0]?.transaction_id,
        database_user: 'postgres',
        application: 'tests',
      }),
    );
    expect(rows[0]?.changed_at.getTime()).toBeGreaterThanOrEqual(before?.now.getTime() ?? Infinity);
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
