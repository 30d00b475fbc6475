// What brings a table to what a CSV file says, as the statements of a migration.
import { type Client, escapeLiteral } from 'pg';
import { groupBy } from '../../collections/group-by.js';
import { CODE_LIST_VALUE, type Table } from '../../database/tables.js';
import type { CsvFile } from './csv-file.js';
import { POSITION, type Row, joinFields, readList } from './csv-lists.js';

/** What brings a table from one content to another. */
interface RowChanges {
  readonly table: Table;
  /** Rows that are not as they will be. */
  readonly before: readonly Row[];
  /** Rows that are not as they were. */
  readonly after: readonly Row[];
}

export interface Statements {
  readonly up: readonly string[];
  readonly down: readonly string[];
  /** How many rows of the table the file lacks. */
  readonly lackingCount: number;
}

/** @param isComplete whether rows that the file lacks go; otherwise they stay */
export async function compareWithTable(client: Client, file: CsvFile, isComplete: boolean): Promise<Statements> {
  const { list } = file;
  const present = await readList(client, list);
  const former = new Map(keyed(list, present));
  // What the file has no column for stays as it is
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
  return { up: toStatements(changes), down: toStatements(reversed), lackingCount };
}

function keyed({ key }: Table, rows: readonly Row[]): [string, Row][] {
  return rows.map((row) => [joinFields(row, key), row]);
}

/**
 * The values of each code list. What stays of lists that the file does not name keeps its order; with a complete file
 * nothing of them stays.
 */
function arrangeLists(staying: readonly Row[], wanted: readonly Row[]): Row[] {
  const wantedByList = groupBy(wanted, (row) => row['code_list']);
  const formerByList = groupBy(staying, (row) => row['code_list']);
  const names = new Set([...formerByList.keys(), ...wantedByList.keys()]);
  return [...names].flatMap((name) => arrangeValues(formerByList.get(name) ?? [], wantedByList.get(name) ?? []));
}

/**
 * The values of one list in the order of a file, with positions. What the file lacks stays behind the value that it
 * stands behind now, so a file that names one new value appends it.
 * @param former the values that stay, as they are now, in their order
 * @param wanted the values that the file names, in the order of its lines
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

/** The present positions, which keeps most rows as they are, and as many more behind them as are needed. */
function choosePositions(count: number, former: readonly Row[]): number[] {
  const positions = former.map((row) => Number(row[POSITION]));
  const last = positions.at(-1) ?? 0;
  const missing = Math.max(0, count - positions.length);
  return [...positions, ...Array.from({ length: missing }, (_, index) => last + 1 + index)];
}

function compareRows(table: Table, before: readonly Row[], after: readonly Row[]): RowChanges {
  return { table, before: selectUnknown(before, after, table), after: selectUnknown(after, before, table) };
}

function selectUnknown(rows: readonly Row[], others: readonly Row[], { columns }: Table): Row[] {
  const names = columns.map(({ name }) => name);
  const known = new Set(others.map((row) => joinFields(row, names)));
  return rows.filter((row) => !known.has(joinFields(row, names)));
}

function toStatements({ table, before, after }: RowChanges): string[] {
  const remaining = new Set(after.map((row) => joinFields(row, table.key)));
  const removed = before.filter((row) => !remaining.has(joinFields(row, table.key)));
  const statements: string[] = []; // either order would do: positions are compared when the migration ends
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

/** An empty text is null, as in `Row`; so is, in a new row, what the file has no column for. */
function formatConstant(text: string | undefined): string {
  return text ? escapeLiteral(text) : 'null';
}
