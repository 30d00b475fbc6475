import { literal } from '../frame/literal.js';
import type { ListChanges } from './compare-list.js';
import { type ListTable, MOMENTS, type Row, shownMoment } from './list-tables.js';

/** Rows of a statement: so many are read at a glance, and planned at once. */
const ROWS = 1_000;

/** A migration with its way back. */
export function listMigration(
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
  return literal(MOMENTS.includes(name) ? shownMoment(text) : text);
}

function inParts(rows: readonly Row[]): Row[][] {
  const parts: Row[][] = [];
  for (let at = 0; at < rows.length; at += ROWS) parts.push(rows.slice(at, at + ROWS));
  return parts;
}
