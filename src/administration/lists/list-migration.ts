import { basename } from 'node:path';
import { type Client, escapeLiteral } from 'pg';
import { AdministrationError } from '../frame/command.js';
import { type ListChanges, compareList } from './compare-list.js';
import { type ListTable, MOMENTS, type Row, readRows, shownMoment } from './list-tables.js';
import type { ListFile } from './read-list-file.js';

/** Rows of a statement: so many are read at a glance, and planned at once. */
const ROWS = 1_000;

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

/** A migration with its way back. */
function listMigration(
  list: ListTable,
  { inserts, updates, deletes }: ListChanges,
  title: string,
): string {
  const [before, after] = [updates.map((row) => row.before), updates.map((row) => row.after)];
  const counted = `${inserts.length} inserts, ${updates.length} updates, ${deletes.length} deletes`;
  return [
    `-- ${title}: ${counted}`,
    '',
    '-- Up Migration',
    '',
    ...remove(list, deletes),
    ...change(list, after),
    ...insert(list, inserts),
    '-- Down Migration',
    '',
    ...remove(list, inserts),
    ...change(list, before),
    ...insert(list, deletes),
  ].join('\n');
}

const insert = (list: ListTable, rows: readonly Row[]): string[] =>
  inParts(rows).map(
    (part) =>
      `insert into ${list.table} (${list.columns.join(', ')}) values\n${tuples(list.columns, part)};\n`,
  );

function change(list: ListTable, rows: readonly Row[]): string[] {
  const others = list.columns.filter((name) => !list.key.includes(name));
  const assigned = others.map(
    (name) => `${name} = v.${name}${MOMENTS.includes(name) ? '::timestamptz' : ''}`,
  );
  const [first, second] = list.key;
  return inParts(rows).map(
    (part) =>
      `update ${list.table} t set ${assigned.join(', ')} from (values\n${tuples(list.columns, part)}\n) as v (${list.columns.join(', ')}) where t.${first} = v.${first} and t.${second} = v.${second};\n`,
  );
}

const remove = (list: ListTable, rows: readonly Row[]): string[] =>
  inParts(rows).map(
    (part) =>
      `delete from ${list.table} where (${list.key.join(', ')}) in (\n${tuples(list.key, part)});\n`,
  );

const tuples = (columns: readonly string[], rows: readonly Row[]): string =>
  rows
    .map((row) => `  (${columns.map((name) => constant(name, row[name] ?? '')).join(', ')})`)
    .join(',\n');

function constant(name: string, text: string): string {
  if (name === 'position') return text;
  if (text === '') return 'null';
  // A text with backslashes becomes E'…', with a space before it
  return escapeLiteral(MOMENTS.includes(name) ? shownMoment(text) : text).trimStart();
}

function inParts(rows: readonly Row[]): Row[][] {
  const parts: Row[][] = [];
  for (let at = 0; at < rows.length; at += ROWS) parts.push(rows.slice(at, at + ROWS));
  return parts;
}
