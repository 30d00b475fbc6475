import { type Row, type Table, keyOf, textOf } from './list-tables.js';

/** What brings a table from one content to another. */
export interface RowChanges {
  readonly table: Table;
  /** Rows that are not as they will be. */
  readonly before: readonly Row[];
  /** Rows that are not as they were. */
  readonly after: readonly Row[];
}

export function changesBetween(table: Table, before: readonly Row[], after: readonly Row[]): RowChanges {
  return {
    table,
    before: rowsWithout(before, after, table.columns),
    after: rowsWithout(after, before, table.columns),
  };
}

/** The rows that vanish, whatever else they hold. */
export function removedRows({ table, before, after }: RowChanges): Row[] {
  const kept = new Set(after.map((row) => keyOf(table, row)));
  return before.filter((row) => !kept.has(keyOf(table, row)));
}

export function reversed({ table, before, after }: RowChanges): RowChanges {
  return { table, before: after, after: before };
}

function rowsWithout(rows: readonly Row[], others: readonly Row[], columns: readonly string[]): Row[] {
  const known = new Set(others.map((row) => textOf(row, columns)));
  return rows.filter((row) => !known.has(textOf(row, columns)));
}
