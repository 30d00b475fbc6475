import { afterAll, describe, expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import { columnOf, withReading, withRollback, withWriting } from './transaction.js';

const database = await createDatabase();
const address = { DATABASE_URL: database.url };
afterAll(() => database.drop());

const LOST =
  'The connection to the database was lost: terminating connection due to administrator command. ' +
  'Nothing was changed. Run the command again once the database answers.';

describe.each([
  { kind: 'a reading', transaction: withReading },
  { kind: 'a rehearsal', transaction: withRollback },
])('$kind', ({ transaction }) => {
  it('has its result where the connection is lost before it ends', async () => {
    const result = await transaction(async (session) => {
      const [processId] = await columnOf<number>(session, 'select pg_backend_pid()');
      await database.query('select pg_terminate_backend($1, 600000)', [processId]);
      return 'read';
    }, address);
    expect(result).toBe('read');
  });

  it('says that the connection was lost where that is so during the work', async () => {
    const sql = 'select pg_terminate_backend(pg_backend_pid())';
    const reading = transaction((session) => session.query(sql), address);
    await expect(reading).rejects.toThrow(LOST);
  });
});

it('a writing leaves nothing where the connection is lost during the work', async () => {
  const writing = withWriting(async (session) => {
    await session.query(`insert into code_list (name) values ('lost')`);
    await session.query('select pg_terminate_backend(pg_backend_pid())');
  }, address);
  await expect(writing).rejects.toThrow(LOST);
  expect(await database.query(`select from code_list where name = 'lost'`)).toEqual([]);
});

it('an error of the work is given as it is', async () => {
  const reading = withReading((session) => session.query('select nope'), address);
  await expect(reading).rejects.toThrow('column "nope" does not exist');
});

it('names the encoding of a database that it cannot use, and the one that is needed', async () => {
  const name = `${database.name}_ascii`;
  await database.query(`create database ${name} encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C' template template0`);
  try {
    const DATABASE_URL = Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
    const reading = withReading((session) => session.query('select 1'), { DATABASE_URL });
    await expect(reading).rejects.toThrow(
      /PostgreSQL \d+ with the encoding SQL_ASCII, and PostgreSQL 14 or later with the encoding UTF8 is needed/,
    );
  } finally {
    await database.query(`drop database ${name} with (force)`);
  }
});
