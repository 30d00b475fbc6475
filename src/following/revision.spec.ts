import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../../test/support/database.js';
import { withReading } from '../administration/cli/connection.js';
import { describeError } from '../administration/cli/program.js';
import { readRevision } from './revision.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const readCodesRevision = () =>
  withReading((session) => readRevision(session, 'codes'), { DATABASE_URL: database.url });

it('readRevision also returns the time of the database, in milliseconds', async () => {
  const nowMs = Date.now();
  const { databaseEpochMs } = await readCodesRevision();
  expect(Math.abs(databaseEpochMs - nowMs)).toBeLessThan(60_000);
});

it('the statement in the remedy for a missing row inserts the row', async () => {
  const { revision } = await readCodesRevision();
  await database.query(`delete from revision where topic = 'codes'`);
  const sentence = await readCodesRevision().then(() => 'no error', describeError);
  expect(sentence).toMatch(/^the table revision has no row for codes\. Run as the owner: insert /);
  const [, remedy = ''] = sentence.split('Run as the owner: ');
  await database.query(remedy);
  expect((await readCodesRevision()).revision).not.toBe(revision);
});
