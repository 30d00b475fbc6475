// Writes the statements of a migration that changes a table to the content of a CSV file.
import { type Client, escapeLiteral } from 'pg';
import { groupBy } from '../../lookups/group-by.js';
import { CODE_LIST_VALUE, type Table } from '../../database/tables.js';
import type { CsvFile } from './csv-file.js';
import { POSITION, type Row, joinFields, readList } from './csv-lists.js';

/** The rows that differ between two contents of a table. */
interface RowChanges {
  readonly table: Table;
  /** Rows of the first content that the second one lacks. */
  readonly before: readonly Row[];
  /** Rows of the second content that the first one lacks. */
  readonly after: readonly Row[];
}

export interface Statements {
  readonly up: readonly string[];
  readonly down: readonly string[];
  /** The number of the table's rows that the file lacks. */
  readonly lackingCount: number;
}

/** @param isComplete if true, rows that the file lacks are deleted; else they stay */
export async function compareWithTable(client: Client, file: CsvFile, isComplete: boolean): Promise<Statements> {
  const { list } = file;
  const present = await readList(client, list);
  const former = new Map(keyed(list, present));
  // A column that the file lacks keeps its content
  const wanted = new Map(keyed(list, file.rows).map(([key, row]) => [key, { ...former.get(key), ...row }]));
  const named = present.filter((row) => wanted.has(joinFields(row, list.key)));
  const staying = isComplete ? named : present;
  const after =
    list === CODE_LIST_VALUE
      ? arrangeLists(staying, [...wanted.values()])
      : [...new Map([...keyed(list, staying), ...wanted]).values()];
  const changes = compareRows(list, present, after);
  const reversed = { table: list, before: changes.after, after: changes.before };
  const lackingCount = present.length - named.length;
  return { up: formatStatements(changes), down: formatStatements(reversed), lackingCount };
}

function keyed({ key }: Table, rows: readonly Row[]): [string, Row][] {
  return rows.map((row) => [joinFields(row, key), row]);
}

/** Returns the values of all code lists, with positions. In a list that the file does not name, positions stay. */
function arrangeLists(staying: readonly Row[], wanted: readonly Row[]): Row[] {
  const wantedByList = groupBy(wanted, (row) => row['code_list']);
  const formerByList = groupBy(staying, (row) => row['code_list']);
  const names = new Set([...formerByList.keys(), ...wantedByList.keys()]);
  return [...names].flatMap((name) => arrangeValues(formerByList.get(name) ?? [], wantedByList.get(name) ?? []));
}

/**
 * Returns the values of one list in the order of a file, with positions. A value that the file lacks stays after the
 * value that precedes it now. If a file names new values only, they come last.
 * @param former the values that stay, in their present order
 * @param wanted the values of the file, in the order of its lines
 */
export function arrangeValues(former: readonly Row[], wanted: readonly Row[]): Row[] {
  const order = [...wanted];
  for (const [index, row] of former.entries()) {
    if (findValue(wanted, row) >= 0) continue;
    const neighbour = former[index - 1];
    const place = neighbour ? findValue(order, neighbour) + 1 : 0;
    order.splice(place, 0, row);
  }
  const positions = choosePositions(order.length, former);
  return order.map((row, index) => ({ ...row, [POSITION]: String(positions[index]) }));
}

function findValue(rows: readonly Row[], wanted: Row): number {
  return rows.findIndex(({ value }) => value === wanted['value']);
}

/** Returns the present positions first, so that few rows change, then new positions. */
function choosePositions(count: number, former: readonly Row[]): number[] {
  const positions = former.map((row) => Number(row[POSITION]));
  const last = positions.at(-1) ?? 0;
  const missing = Math.max(0, count - positions.length);
  return [...positions, ...Array.from({ length: missing }, (_, index) => last + 1 + index)];
}

function compareRows(table: Table, before: readonly Row[], after: readonly Row[]): RowChanges {
  return { table, before: subtractRows(before, after, table), after: subtractRows(after, before, table) };
}

function subtractRows(rows: readonly Row[], others: readonly Row[], { columns }: Table): Row[] {
  const names = columns.map(({ name }) => name);
  const known = new Set(others.map((row) => joinFields(row, names)));
  return rows.filter((row) => !known.has(joinFields(row, names)));
}

function formatStatements({ table, before, after }: RowChanges): string[] {
  const remaining = new Set(after.map((row) => joinFields(row, table.key)));
  const removed = before.filter((row) => !remaining.has(joinFields(row, table.key)));
  const statements: string[] = []; // in any order: PostgreSQL checks positions at the end of the migration
  if (after.length > 0) statements.push(formatInsert(table, after));
  if (removed.length > 0) statements.push(formatDelete(table, removed));
  return statements;
}

function formatInsert({ name, key, columns }: Table, rows: readonly Row[]): string {
  const names = columns.map((column) => column.name);
  const others = columns.filter(({ isKey }) => !isKey).map((column) => `${column.name} = excluded.${column.name}`);
  return [
    `insert into ${name} (${names.join(', ')}) values`,
    formatTuples(rows, names),
    `on conflict (${key.join(', ')}) do update set ${others.join(', ')};`,
  ].join('\n');
}

function formatDelete({ name, key }: Table, rows: readonly Row[]): string {
  return `delete from ${name} where (${key.join(', ')}) in (values\n${formatTuples(rows, key)}\n);`;
}

function formatTuples(rows: readonly Row[], columns: readonly string[]): string {
  const lines = rows.map((row) => `  (${columns.map((column) => formatConstant(row[column])).join(', ')})`);
  return lines.join(',\n');
}

/** Returns a constant of SQL: `null` for an empty text, and in a new row also for a column that the file lacks. */
function formatConstant(text: string | undefined): string {
  return text ? escapeLiteral(text) : 'null';
}
