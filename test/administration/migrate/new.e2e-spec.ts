import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../support/program.js';
import { MIGRATION_NAMES, useProgramCopy } from '../../support/project-copy.js';

const { copy, database } = await useProgramCopy(({ urlOf }) => urlOf('order_lookup_owner'));
const list = join(copy.folder, 'list.csv');

function runNewFromList(): Promise<Outcome> {
  return copy.run('migrate', 'new', 'add_codes', '--from', list);
}

describe('migrate new --from', () => {
  it('takes pending files into account, so that the same rows are not written twice', async () => {
    writeFileSync(list, 'code_type,code,description\nT,A,First\nT,B,Second\n');
    copy.add(
      '0100_first',
      `insert into communication_code values ('T', 'A', 'First');`,
      'delete from communication_code;',
    );
    expect(await runNewFromList()).toEqual({
      status: 0,
      stdout: expect.stringMatching(/^created .*\/\d{14}_add_codes\.sql\n$/),
      stderr: '',
    });
    expect(await runNewFromList()).toEqual({
      status: 0,
      stdout: `The database already contains what ${list} says, or pending migrations add it. Nothing was written.\n`,
      stderr: '',
    });
    expect(readdirSync(copy.migrations)).toHaveLength(MIGRATION_NAMES.length + 2);
    expect(await copy.run('migrate', 'up')).toMatchObject({ status: 0, stderr: '' });
    const codes = await database.query('select code from communication_code order by 1');
    expect(codes).toEqual([{ code: 'A' }, { code: 'B' }]);
  });

  it('names the pending file that fails', async () => {
    writeFileSync(list, 'code_type,code,description\nT,C,Third\n');
    copy.add('0101_wrong', 'selec 1;');
    expect(await runNewFromList()).toEqual({
      status: 1,
      stdout: '',
      stderr: '0101_wrong.sql, line 2: syntax error at or near "selec"\n',
    });
  });
});
