import { escapeLiteral } from 'pg';
import type { Row } from './list-tables.js';
import { type RowChanges, removedRows, reversed } from './row-changes.js';

interface MigrationOptions {
  readonly title: string;
  /** Tables that others refer to come first. */
  readonly changes: readonly RowChanges[];
  /** The table holds the changes already: the migration undoes them first, so that it writes the same rows. */
  readonly isDoneAlready?: boolean;
}

/** The text of a migration with its way back, or undefined if no row differs. */
export function migrationText({ title, changes, isDoneAlready }: MigrationOptions): string | undefined {
  const forth = statementsOf(changes);
  const back = statementsOf(changes.map(reversed));
  if (forth.length === 0) return undefined;
  const parts = [`-- ${title}`, '-- Up Migration'];
  if (isDoneAlready) parts.push('-- First as it was before', ...back);
  parts.push(...forth, '-- Down Migration', ...back);
  return `${parts.join('\n\n')}\n`;
}

/** Rows that others refer to are inserted before these, and deleted after them. */
function statementsOf(changes: readonly RowChanges[]): string[] {
  const inserts = changes.filter(({ after }) => after.length > 0).map(insertOf);
  const deletions = changes
    .toReversed()
    .filter((change) => removedRows(change).length > 0)
    .map(deletionOf);
  return [...inserts, ...deletions];
}

function insertOf({ table, after }: RowChanges): string {
  const { name, key, columns } = table;
  const others = columns.filter((column) => !key.includes(column));
  const assignments = others.map((column) => `${column} = excluded.${column}`);
  const action = others.length > 0 ? `update set ${assignments.join(', ')}` : 'nothing';
  const values = tuplesOf(after, columns);
  return `insert into ${name} (${columns.join(', ')}) values\n${values}\non conflict (${key.join(', ')}) do ${action};`;
}

function deletionOf(change: RowChanges): string {
  const { name, key } = change.table;
  const values = tuplesOf(removedRows(change), key);
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
