import { afterAll, describe, expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import { dryRun } from './dry-run.js';

const database = await createDatabase();
const address = { DATABASE_URL: database.url };
afterAll(() => database.drop());

const NO_END = /^The dry run came to no end, and nothing was changed: .*\. If others write meanwhile, choose/;

describe('a dry run whose work fails', () => {
  it('gives an error of the program as it is', async () => {
    const error = new TypeError('undefined is not a function');
    await expect(dryRun(() => Promise.reject(error), address)).rejects.toBe(error);
  });

  it('gives an error of SQL as it is', async () => {
    const work = dryRun((session) => session.query('select nope'), address);
    await expect(work).rejects.toThrow(/^column "nope" does not exist$/);
  });

  it.each([
    ['the connection is lost', 'select pg_terminate_backend(pg_backend_pid())'],
    ['a limit is reached', `set local statement_timeout = 1; select pg_sleep(3600)`],
  ])('says that it came to no end where %s', async (_, sql) => {
    const work = dryRun((session) => session.query(sql), address);
    await expect(work).rejects.toThrow(NO_END);
  });
});
