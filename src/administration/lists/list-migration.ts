import { basename } from 'node:path';
import type { Client } from 'pg';
import { AdministrationError } from '../frame/administration-error.js';
import { compareList } from './compare-list.js';
import { readRows } from './list-tables.js';
import type { ListFile } from './read-list-file.js';
import { listMigration } from './write-list-migration.js';

/** The text of a migration that brings the table to what the file says; undefined where it is so already. */
export async function migrationFor(
  client: Client,
  path: string,
  { list, rows }: ListFile,
  complete: boolean,
): Promise<string | undefined> {
  if (list.table === 'code_list_value') await assertListsExist(client, path, rows);
  const changes = compareList(list, await readRows(client, list), rows, complete);
  if (changes.inserts.length + changes.updates.length + changes.deletes.length === 0)
    return undefined;
  const title = `Written from ${JSON.stringify(basename(path))}${complete ? ', which is complete' : ''}`;
  return listMigration(list, changes, title);
}

async function assertListsExist(
  client: Client,
  path: string,
  rows: ListFile['rows'],
): Promise<void> {
  const { rows: lists } = await client.query<{ name: string }>(
    'select name::text from public.code_list',
  );
  const known = new Set(lists.map(({ name }) => name));
  const at = rows.findIndex((row) => !known.has(row['code_list'] ?? ''));
  if (at >= 0)
    throw new AdministrationError(
      `${path}, row ${at + 1}: there is no list ${JSON.stringify(rows[at]?.['code_list'])}. Correct its name, or create it by a migration first. Nothing was written.`,
    );
}
