import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../support/database.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** A plan that a session made for one changed row would compare each of them with each. */
it('a change of 20,000 rows is recorded within the time-out after single rows in the same session', async () => {
  const one = `update communication_code set description = description || '.' where code = '1'`;
  const statements = [
    `insert into communication_code (code_type, code, description) select 'T', n::text, 'D' from generate_series(1, 20000) n`,
    ...Array.from({ length: 10 }, () => one),
    `set local statement_timeout = '30s'`,
    `update communication_code set description = 'all'`,
  ];
  await database.query(statements.join(';'));
  const rows = await database.query(`select from history where table_name = 'communication_code'`);
  expect(rows).toHaveLength(20_000 + 10 + 20_000);
});
