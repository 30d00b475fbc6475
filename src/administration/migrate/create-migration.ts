import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AdministrationError } from '../frame/administration-error.js';
import { writeLast } from './last-migration.js';
import { migrationNames, nameOf, numberOf } from './read-migrations.js';

const TEMPLATE = `-- Up Migration

-- for example: insert into code_list_value (code_list, value) values ('orderType', 'Transfer');

-- Down Migration

-- for example: delete from code_list_value where code_list = 'orderType' and value = 'Transfer';
`;

/** Creates the next migration and gives its path. */
export async function createMigration(
  folder: string,
  subject: string,
  text = TEMPLATE,
): Promise<string> {
  if (!/^[a-z0-9_]+$/.test(subject))
    throw new AdministrationError(
      `"${subject}" cannot be part of a file name: lower-case letters, digits and underscores are needed, such as add_order_type.`,
    );
  const last = (await migrationNames(folder)).at(-1);
  const name = nameOf(last ? numberOf(last) + 1 : 1, subject);
  const path = join(folder, `${name}.sql`);
  await writeFile(path, text, { flag: 'wx' });
  await writeLast(folder, name);
  return path;
}
