import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AdministrationError } from '../frame/administration-error.js';
import { migrationNames, numberOf } from './read-migrations.js';

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
  const number = String((last ? numberOf(last) : 0) + 1).padStart(4, '0');
  const path = join(folder, `${number}_${subject}.sql`);
  await writeFile(path, text, { flag: 'wx' });
  return path;
}
