import { escapeLiteral } from 'pg';
import type { Row, Table } from './list-tables.js';

/** What brings a table to other contents. */
export interface TableChanges {
  readonly inserts: readonly Row[];
  readonly updates: readonly { readonly before: Row; readonly after: Row }[];
  readonly deletes: readonly Row[];
}

/** Rows of a statement: so many are read at a glance, and planned at once. */
const ROWS = 1_000;

/** The text of a migration with its way back. */
export const migrationText = (title: string, up: string[], down: string[]): string =>
  [`-- ${title}`, '', '-- Up Migration', '', ...up, '-- Down Migration', '', ...down].join('\n');

/** A migration that changes one table. */
export function listMigration(
  table: Table,
  { inserts, updates, deletes }: TableChanges,
  title: string,
): string {
  const [before, after] = [updates.map((row) => row.before), updates.map((row) => row.after)];
  const counted = `${inserts.length} inserts, ${updates.length} updates, ${deletes.length} deletes`;
  return migrationText(
    `${title}: ${counted}`,
    [...remove(table, deletes), ...upsert(table, after), ...insert(table, inserts)],
    [...remove(table, inserts), ...upsert(table, before), ...insert(table, deletes)],
  );
}

const insert = (table: Table, rows: readonly Row[], more = ''): string[] =>
  inParts(rows).map(
    (part) =>
      `insert into ${table.table} (${table.columns.join(', ')}) values\n${tuples(table.columns, part)}${more};\n`,
  );

/** Rows that may be there already, with other contents. */
export function upsert(table: Table, rows: readonly Row[]): string[] {
  const others = table.columns.filter((name) => !table.key.includes(name));
  const assigned = others.map((name) => `${name} = excluded.${name}`).join(', ');
  return insert(
    table,
    rows,
    `\non conflict (${table.key.join(', ')}) do ${assigned ? `update set ${assigned}` : 'nothing'}`,
  );
}

export const remove = (table: Table, rows: readonly Row[]): string[] =>
  inParts(rows).map(
    (part) =>
      `delete from ${table.table} where (${table.key.join(', ')}) in (\n${tuples(table.key, part)});\n`,
  );

const tuples = (columns: readonly string[], rows: readonly Row[]): string =>
  rows
    .map((row) => `  (${columns.map((name) => constant(name, row[name] ?? '')).join(', ')})`)
    .join(',\n');

function constant(name: string, text: string): string {
  if (name === 'position') return text;
  if (text === '') return 'null';
  // A text with backslashes becomes E'…', with a space before it
  return escapeLiteral(text).trimStart();
}

function inParts(rows: readonly Row[]): Row[][] {
  const parts: Row[][] = [];
  for (let at = 0; at < rows.length; at += ROWS) parts.push(rows.slice(at, at + ROWS));
  return parts;
}
