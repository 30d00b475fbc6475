import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AdministrationError, command } from '../../frame/command.js';
import { withDatabase } from '../../frame/connect.js';
import { migrationFor } from '../../lists/list-migration.js';
import { readListFile } from '../../lists/read-list-file.js';
import { writeLast } from '../last-migration.js';
import { MIGRATIONS, migrationNames, nameOf, numberOf } from '../read-migrations.js';

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
  options: { from: { type: 'string' }, complete: { type: 'boolean' } },
  run: async ({ from, complete }, [name = '']) => {
    if (from === undefined) {
      if (complete) throw new AdministrationError('--complete needs a file: --from FILE.csv');
      return { text: `created ${await createMigration(name)}` };
    }
    const file = await readListFile(from);
    const text = await withDatabase((client) =>
      migrationFor(client, from, file, complete === true),
    );
    return {
      text:
        text === undefined
          ? `The database already holds what ${from} says. Nothing was written.`
          : `created ${await createMigration(name, text)}`,
    };
  },
});

/** Creates the next migration and gives its path. */
async function createMigration(subject: string, text = TEMPLATE): Promise<string> {
  if (!/^[a-z0-9_]+$/.test(subject))
    throw new AdministrationError(
      `"${subject}" cannot be part of a file name: lower-case letters, digits and underscores are needed, such as add_order_type.`,
    );
  const last = (await migrationNames(MIGRATIONS)).at(-1);
  const name = nameOf(last ? numberOf(last) + 1 : 1, subject);
  const path = join(MIGRATIONS, `${name}.sql`);
  await writeFile(path, text, { flag: 'wx' });
  await writeLast(name);
  return path;
}
