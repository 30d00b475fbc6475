import { afterAll, afterEach } from '@jest/globals';
import { type TestDatabase, createDatabase } from './database.js';
import { ProgramCopy } from './program-copy.js';

/**
 * A copy of the program and a database until the last test of a file has ended. After each test its migrations are
 * those of the project again, and its environment is what it was.
 * @param urlOf the address of the database that the commands use
 */
export async function testCopy(urlOf = (database: TestDatabase): string => database.url) {
  const copy = new ProgramCopy();
  const database = await createDatabase();
  copy.environment = { DATABASE_URL: urlOf(database) };
  afterEach(() => {
    copy.reset();
    copy.environment = { DATABASE_URL: urlOf(database) };
  });
  afterAll(async () => {
    copy.remove();
    await database.drop();
  });
  return { copy, database };
}
