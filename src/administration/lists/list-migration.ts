import { escapeLiteral } from 'pg';
import { type Row, type Table, keyOf } from './list-tables.js';

/** Rows of a statement: so many are read at a glance, and planned at once. */
const ROWS = 1_000;

/** The rows of a table that differ, as they are and as they will be. */
type Changes = Readonly<{ table: Table; before: readonly Row[]; after: readonly Row[] }>;

/** A migration with its way back. Tables that others refer to come first: rows are written in this order, and deleted in the other one. */
export function migrationText(title: string, changes: readonly Changes[]): string {
  const back = changes.map(({ table, before, after }) => ({ table, before: after, after: before }));
  const [up, down] = [changes, back].map((ways) => statements(ways).join('\n'));
  return `-- ${title}\n\n-- Up Migration\n\n${up}\n-- Down Migration\n\n${down}`;
}

function statements(changes: readonly Changes[]): string[] {
  const removed = changes.toReversed().flatMap(({ table, before, after }) => {
    const stays = new Set(after.map((row) => keyOf(table, row)));
    const gone = before.filter((row) => !stays.has(keyOf(table, row)));
    return remove(table, gone);
  });
  return [...changes.flatMap(({ table, after }) => upsert(table, after)), ...removed];
}

/** Writes rows that may be there already, with other contents. */
function upsert({ table, key, columns }: Table, rows: readonly Row[]): string[] {
  const others = columns.filter((name) => !key.includes(name));
  const assigned = others.map((name) => `${name} = excluded.${name}`).join(', ');
  return inParts(rows, columns).map(
    (tuples) =>
      `insert into ${table} (${columns.join(', ')}) values\n${tuples}\non conflict (${key.join(', ')}) do ${assigned ? `update set ${assigned}` : 'nothing'};\n`,
  );
}

const remove = ({ table, key }: Table, rows: readonly Row[]): string[] =>
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
