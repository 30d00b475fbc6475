import { afterAll, expect, it } from '@jest/globals';
import { createDatabase } from '../../../../test/support/database.js';
import { driftMigration } from './drift-migration.js';

const database = await createDatabase();
afterAll(() => database.drop());

/** Writes as a migration does: with its row in pgmigrations. */
const migrate = (name: string, sql: string) =>
  database.query(`begin; ${sql}; insert into pgmigrations (name, run_on) values ('${name}', now()); commit`);

it('is refused where a migration has since written the key that a row had before', async () => {
  await migrate('0100_first', `insert into communication_code values ('T', 'old', 'first')`);
  await database.query(`update communication_code set code = 'new' where code = 'old'`);
  await migrate('0101_second', `insert into communication_code values ('T', 'old', 'second')`);
  const session = await database.session();
  await expect(driftMigration(session, undefined)).rejects.toThrow(
    /^A migration changed the same row later\. Write the migration yourself: .*"new"/,
  );
});
