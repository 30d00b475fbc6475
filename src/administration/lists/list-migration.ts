import { escapeLiteral } from 'pg';
import { type Row, type Table, keyOf } from './list-tables.js';

/** Rows of a statement: so many are read at a glance, and planned at once. */
const ROWS = 1_000;

/** The text of a migration with its way back. */
export const migrationText = (title: string, up: string[], down: string[]): string =>
  [`-- ${title}`, '', '-- Up Migration', '', ...up, '-- Down Migration', '', ...down].join('\n');

/** The rows of a table that differ, as they are and as they will be. */
type Changes = Readonly<Record<'before' | 'after', readonly Row[]>>;

export const listMigration = (table: Table, { before, after }: Changes, title: string): string =>
  migrationText(title, statements(table, before, after), statements(table, after, before));

function statements(table: Table, from: readonly Row[], to: readonly Row[]): string[] {
  const stays = new Set(to.map((row) => keyOf(table, row)));
  const gone = from.filter((row) => !stays.has(keyOf(table, row)));
  return [...remove(table, gone), ...upsert(table, to)];
}

/** Writes rows that may be there already, with other contents. */
export function upsert({ table, key, columns }: Table, rows: readonly Row[]): string[] {
  const others = columns.filter((name) => !key.includes(name));
  const assigned = others.map((name) => `${name} = excluded.${name}`).join(', ');
  return inParts(rows, columns).map(
    (tuples) =>
      `insert into ${table} (${columns.join(', ')}) values\n${tuples}\non conflict (${key.join(', ')}) do ${assigned ? `update set ${assigned}` : 'nothing'};\n`,
  );
}

export const remove = ({ table, key }: Table, rows: readonly Row[]): string[] =>
  inParts(rows, key).map(
    (tuples) => `delete from ${table} where (${key.join(', ')}) in (\n${tuples});\n`,
  );

function inParts(rows: readonly Row[], columns: readonly string[]): string[] {
  const tuples = rows.map(
    (row) => `  (${columns.map((name) => constant(row[name] ?? '')).join(', ')})`,
  );
  const parts = Array.from({ length: Math.ceil(rows.length / ROWS) }, (_, at) => at * ROWS);
  return parts.map((first) => tuples.slice(first, first + ROWS).join(',\n'));
}

/** A text with backslashes becomes E'…', with a space before it. */
const constant = (text: string): string => (text === '' ? 'null' : escapeLiteral(text).trimStart());
