import { basename } from 'node:path';
import { AdministrationError, FLAG, TEXT, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { compareList } from '../lists/compare-list.js';
import { listMigration } from '../lists/list-migration.js';
import { readListFile } from '../lists/read-list-file.js';
import { createMigration } from './migration-files.js';

const TEMPLATE = `-- Up Migration

-- for example: insert into code_list_value (code_list, value) values ('orderType', 'Transfer');

-- Down Migration

-- for example: delete from code_list_value where code_list = 'orderType' and value = 'Transfer';
`;

export const create = command({
  usage: 'NAME [--from FILE.csv [--complete]]',
  summary:
    'creates the next migration: an empty one, or one that brings the table to what the file says; with --complete rows that the file lacks are deleted',
  operands: [1, 1],
  options: { from: TEXT, complete: FLAG },
  run: async ({ from, complete = false }, [name = '']) => {
    if (from === undefined && complete)
      throw new AdministrationError('--complete needs a file: --from FILE.csv');
    if (from === undefined) return { text: `created ${await createMigration(name, TEMPLATE)}` };
    const file = await readListFile(from);
    const changes = await withDatabase((client) => compareList(client, from, file, complete));
    if (Object.values(changes).every((rows) => rows.length === 0))
      return { text: `The database already holds what ${from} says. Nothing was written.` };
    const title = `Written from ${JSON.stringify(basename(from))}${complete ? ', which is complete' : ''}`;
    return {
      text: `created ${await createMigration(name, listMigration(file.list, changes, title))}`,
    };
  },
});
