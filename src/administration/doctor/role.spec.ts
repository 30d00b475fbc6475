import { expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import { withReading } from '../cli/transaction.js';
import { examineRole } from './role.js';

it('names tables that are missing, which is no matter of the role', async () => {
  const empty = await createDatabase({ migrated: false });
  expect(await withReading(examineRole, { DATABASE_URL: empty.url })).toEqual({
    state: 'fault',
    text: expect.stringMatching(/^there is nothing to read yet: revision, .* is missing$/),
    remedy: expect.stringMatching(/ migrate\.js up$| migrate -- up$/),
  });
  await empty.drop();
});
