import { expect, it } from '@jest/globals';
import { useProgramCopy } from '../../../test/support/project-copy.js';

const { copy } = await useProgramCopy();

it('`new --from` says that its file is missing, even if migrations are pending', async () => {
  copy.add('0100_pending', 'select 1;');
  expect(await copy.run('migrate', 'new', 'add_codes', '--from', 'typo.csv')).toEqual({
    status: 1,
    stdout: '',
    stderr: 'typo.csv cannot be read: ENOENT: no such file or directory. Nothing was written.\n',
  });
});
