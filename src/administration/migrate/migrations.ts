import { readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AdministrationError } from '../frame/administration-error.js';
import { statementsOf } from './sql-statements.js';

/** The folder of migrations, beside dist/ or src/, whatever the current folder is. */
export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

const TEMPLATE = `-- Up Migration

-- for example: insert into code_list_value (code_list, value) values ('orderType', 'Transfer');

-- Down Migration

-- for example: delete from code_list_value where code_list = 'orderType' and value = 'Transfer';
`;

/** Names of all migrations, without .sql, in their order. */
export async function migrationNames(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => !file.startsWith('.')).toSorted();
  const wrong = files.find((file) => !/^\d{4}_[a-z0-9_]+\.sql$/.test(file));
  if (wrong)
    throw new AdministrationError(
      `${wrong} is not the name of a migration: NNNN_verb_object.sql is needed, such as 0042_add_order_type.sql.`,
    );
  const twice = files.find((file, at) => files[at + 1]?.slice(0, 4) === file.slice(0, 4));
  if (twice)
    throw new AdministrationError(
      `Two migrations have the number ${twice.slice(0, 4)}: give the later one the next free number.`,
    );
  return files.map((file) => basename(file, '.sql'));
}

/** Creates the next empty migration and gives its path. */
export async function createMigration(folder: string, name: string): Promise<string> {
  if (!/^[a-z0-9_]+$/.test(name))
    throw new AdministrationError(
      `"${name}" cannot be part of a file name: lower-case letters, digits and underscores are needed, such as add_order_type.`,
    );
  const last = (await migrationNames(folder)).at(-1) ?? '0000';
  const path = join(folder, `${String(Number(last.slice(0, 4)) + 1).padStart(4, '0')}_${name}.sql`);
  await writeFile(path, TEMPLATE, { flag: 'wx' });
  return path;
}

/** Each migration runs in a transaction with its bookkeeping row, which a COMMIT of its own would tear in two. */
export async function assertNoTransactionControl(
  folder: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    const sql = await readFile(join(folder, `${name}.sql`), 'utf8');
    const own = statementsOf(sql).find(({ text }) =>
      /^(begin|commit|end|rollback|abort|start\s+transaction|prepare\s+transaction)\b(?!\s+to\b)/i.test(
        text,
      ),
    );
    if (own)
      throw new AdministrationError(
        `${name}.sql contains "${own.text.split('\n')[0]}": each migration runs in a transaction already. Take the statement out.`,
      );
  }
}
