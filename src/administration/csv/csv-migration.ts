// Writes the statements of a migration that gives a table the content of a CSV file.
import { type Client, escapeLiteral } from 'pg';
import { groupBy } from '../../lookups/group-by.js';
import { CODE_LIST_VALUE, type Table } from '../../database/tables.js';
import type { CsvFile } from './csv-file.js';
import { POSITION, type Row, joinFields, readRows } from './csv-tables.js';

/** The rows that differ between two contents of a table. A row with a changed field is in both arrays. */
interface Difference {
  readonly table: Table;
  readonly onlyBefore: readonly Row[];
  readonly onlyAfter: readonly Row[];
}

export interface Statements {
  readonly up: readonly string[];
  readonly down: readonly string[];
  /** The number of the table's rows that the file lacks. */
  readonly lackingCount: number;
}

/** @param isComplete if true, the migration deletes the rows that the file lacks, else they stay */
export async function compareWithTable(client: Client, file: CsvFile, isComplete: boolean): Promise<Statements> {
  const { table } = file;
  const present = await readRows(client, table);
  const presentByKey = new Map(pairWithKeys(table, present));
  const wantedByKey = new Map<string, Row>();
  for (const [key, row] of pairWithKeys(table, file.rows)) {
    wantedByKey.set(key, { ...presentByKey.get(key), ...row }); // a column that the file lacks keeps its content
  }
  const wanted = [...wantedByKey.values()];
  const inFile = present.filter((row) => wantedByKey.has(joinFields(row, table.key)));
  const staying = isComplete ? inFile : present;
  const content = table === CODE_LIST_VALUE ? arrangeLists(staying, wanted) : mergeRows(table, staying, wanted);
  return {
    up: formatStatements(compareContents(table, present, content)),
    down: formatStatements(compareContents(table, content, present)),
    lackingCount: present.length - inFile.length,
  };
}

function pairWithKeys({ key }: Table, rows: readonly Row[]): [string, Row][] {
  return rows.map((row) => [joinFields(row, key), row]);
}

/** Returns all staying and wanted rows. A wanted row replaces the staying row with the same key. */
function mergeRows(table: Table, staying: readonly Row[], wanted: readonly Row[]): Row[] {
  return [...new Map(pairWithKeys(table, [...staying, ...wanted])).values()];
}

/** Returns the values of all code lists, with positions. In a list without wanted values, nothing moves. */
function arrangeLists(staying: readonly Row[], wanted: readonly Row[]): Row[] {
  const wantedByList = groupBy(wanted, (row) => row['code_list']);
  const stayingByList = groupBy(staying, (row) => row['code_list']);
  const names = new Set([...stayingByList.keys(), ...wantedByList.keys()]);
  return [...names].flatMap((name) => arrangeValues(stayingByList.get(name) ?? [], wantedByList.get(name) ?? []));
}

/**
 * Returns the values of one list in the order of the file, with positions. File `X` and table `A, B` give `A, B, X`.
 * @param staying values of the table, in their present order
 */
export function arrangeValues(staying: readonly Row[], wanted: readonly Row[]): Row[] {
  const order = [...wanted];
  for (const [index, row] of staying.entries()) {
    if (findValue(wanted, row) >= 0) continue;
    // A value that the file lacks stays after the value that precedes it now. If no value precedes it, it stays first
    const preceding = staying[index - 1];
    const place = preceding ? findValue(order, preceding) + 1 : 0;
    order.splice(place, 0, row);
  }
  const positions = choosePositions(order.length, staying);
  return order.map((row, index) => ({ ...row, [POSITION]: String(positions[index]) }));
}

function findValue(rows: readonly Row[], wanted: Row): number {
  return rows.findIndex(({ value }) => value === wanted['value']);
}

/** Returns `count` positions: the present ones, so that few rows change, and then the numbers after the last one. */
function choosePositions(count: number, staying: readonly Row[]): number[] {
  const present = staying.map((row) => Number(row[POSITION]));
  const last = present.at(-1) ?? 0;
  const newCount = count - present.length;
  return [...present, ...Array.from({ length: newCount }, (_, index) => last + 1 + index)];
}

function compareContents(table: Table, before: readonly Row[], after: readonly Row[]): Difference {
  return { table, onlyBefore: subtractRows(before, after, table), onlyAfter: subtractRows(after, before, table) };
}

function subtractRows(rows: readonly Row[], others: readonly Row[], { columns }: Table): Row[] {
  const names = columns.map(({ name }) => name);
  const known = new Set(others.map((row) => joinFields(row, names)));
  return rows.filter((row) => !known.has(joinFields(row, names)));
}

function formatStatements({ table, onlyBefore, onlyAfter }: Difference): string[] {
  const changedKeys = new Set(onlyAfter.map((row) => joinFields(row, table.key)));
  const removed = onlyBefore.filter((row) => !changedKeys.has(joinFields(row, table.key)));
  const statements: string[] = []; // in any order: PostgreSQL checks unique positions at the end of the transaction
  if (onlyAfter.length > 0) statements.push(formatInsert(table, onlyAfter));
  if (removed.length > 0) statements.push(formatDelete(table, removed));
  return statements;
}

function formatInsert({ name, key, columns }: Table, rows: readonly Row[]): string {
  const names = columns.map((column) => column.name);
  const updates = columns.filter(({ isKey }) => !isKey).map((column) => `${column.name} = excluded.${column.name}`);
  return [
    `insert into ${name} (${names.join(', ')}) values`,
    formatTuples(rows, names),
    `on conflict (${key.join(', ')}) do update set ${updates.join(', ')};`,
  ].join('\n');
}

function formatDelete({ name, key }: Table, rows: readonly Row[]): string {
  return `delete from ${name} where (${key.join(', ')}) in (values\n${formatTuples(rows, key)}\n);`;
}

function formatTuples(rows: readonly Row[], columns: readonly string[]): string {
  const lines = rows.map((row) => `  (${columns.map((column) => formatConstant(row[column])).join(', ')})`);
  return lines.join(',\n');
}

/** Returns a constant of SQL. It is `null` for an empty text, and for a column that a new row of the file lacks. */
function formatConstant(text: string | undefined): string {
  return text ? escapeLiteral(text) : 'null';
}
