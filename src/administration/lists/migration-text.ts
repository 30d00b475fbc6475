import { escapeLiteral } from 'pg';
import type { Row, Table } from './list-tables.js';
import { type RowChanges, removedRows, reversed } from './row-changes.js';

/** The text of a migration with its way back, or undefined if no row differs. */
export function migrationText(title: string, changes: RowChanges): string | undefined {
  const forth = statementsOf(changes);
  if (forth.length === 0) return undefined;
  const parts = [`-- ${title}`, '-- Up Migration', ...forth, '-- Down Migration', ...statementsOf(reversed(changes))];
  return `${parts.join('\n\n')}\n`;
}

function statementsOf(changes: RowChanges): string[] {
  const statements: string[] = [];
  if (changes.after.length > 0) statements.push(insertOf(changes));
  const removed = removedRows(changes);
  if (removed.length > 0) statements.push(deletionOf(changes.table, removed));
  return statements;
}

function insertOf({ table, after }: RowChanges): string {
  const { name, key, columns } = table;
  const others = columns.filter((column) => !key.includes(column));
  const assignments = others.map((column) => `${column} = excluded.${column}`).join(', ');
  const values = tuplesOf(after, columns);
  return `insert into ${name} (${columns.join(', ')}) values\n${values}\non conflict (${key.join(', ')}) do update set ${assignments};`;
}

function deletionOf({ name, key }: Table, rows: readonly Row[]): string {
  const values = tuplesOf(rows, key);
  return `delete from ${name} where (${key.join(', ')}) in (values\n${values}\n);`;
}

function tuplesOf(rows: readonly Row[], columns: readonly string[]): string {
  const lines = rows.map((row) => {
    const constants = columns.map((column) => constantOf(row[column]));
    return `  (${constants.join(', ')})`;
  });
  return lines.join(',\n');
}

function constantOf(field: Row[string] | undefined): string {
  const isEmpty = field === undefined || field === null || field === '';
  return isEmpty ? 'null' : escapeLiteral(String(field));
}
