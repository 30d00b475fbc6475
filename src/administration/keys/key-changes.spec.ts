import { expect, it } from '@jest/globals';
import { UnknownCommit } from '../frame/commit.js';
import { createDatabase } from '../../../test/support/database.js';
import { changeKeys, remedyAgainstUnseenKey } from './key-changes.js';

it('says what to do where it is not known whether a key was stored', async () => {
  const database = await createDatabase();
  process.env['DATABASE_URL'] = database.url;
  const changing = changeKeys({
    work: () => Promise.reject(new UnknownCommit(new Error('lost'))),
    remedyIfUnknown: remedyAgainstUnseenKey('Then repeat the command.'),
  });
  await expect(changing).rejects.toThrow(
    /^COMMIT got no answer \(lost\): .* See .* list: if the new key is there, revoke it, .* Then repeat the command\.$/,
  );
  await database.drop();
});
