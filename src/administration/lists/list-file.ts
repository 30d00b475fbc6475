import { readFile } from 'node:fs/promises';
import type { Client } from 'pg';
import { groupBy } from '../../collections/group-by.js';
import { messageOf } from '../../telemetry/error-message.js';
import { CliError, commandLine } from '../cli/program.js';
import { columnOf } from '../cli/transaction.js';
import { type CsvRecord, type Fault, parseCsv } from './csv-file.js';
import { type FileRow, rowsOf } from './list-rows.js';
import { CODE_LISTS, LISTS, type List, MOMENTS, type Row, keyOf, readRows } from './list-tables.js';
import { type RowChanges, changesBetween } from './row-changes.js';
import { arrangeValues } from './value-order.js';

const MAX_FAULTS = 20;

/** A file that was read, and that is of one of the lists. */
export interface ListFile {
  readonly path: string;
  readonly list: List;
  /** Of the columns. An empty name is a column that has to be empty. */
  readonly names: readonly string[];
  readonly records: readonly CsvRecord[];
  /** Of the form; those of the rows show beside the table. */
  readonly faults: readonly Fault[];
}

/** @throws CliError if there is no such file, or its columns are those of no list */
export async function readListFile(path: string): Promise<ListFile> {
  const { header, records, faults } = parseCsv(await bytesOf(path));
  if (!header) {
    const empty = { line: 1, message: 'the file is empty.' };
    throw new CliError(describeFaults(path, faults.length > 0 ? faults : [empty]));
  }
  const names = namesOf(header);
  const list = listOf(names);
  if (!list) {
    throw new CliError(describeFaults(path, [...faults, { line: header.line, message: headerFault(names) }]));
  }
  return { path, list, names, records, faults };
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new CliError(`${path} cannot be read: ${messageOf(error)}. Nothing was written.`);
  }
}

/**
 * What brings a table to what a CSV file says. A file with a fault is refused whole.
 * @param isComplete whether rows that the file lacks go; otherwise they stay
 */
export async function changesFrom(
  client: Client,
  { path, list, names, records, faults }: ListFile,
  isComplete: boolean,
): Promise<RowChanges> {
  const present = await readRows(client, list);
  const fromFile = rowsOf(list, names, records, present);
  const rows = [...fromFile.rows.values()];
  const allFaults = [...faults, ...fromFile.faults];
  if (list === CODE_LISTS) allFaults.push(...(await unknownLists(client, rows)));
  if (allFaults.length > 0) throw new CliError(describeFaults(path, allFaults));

  const staying = isComplete ? present.filter((row) => fromFile.rows.has(keyOf(list, row))) : present;
  const after = list === CODE_LISTS ? arrangeLists(staying, rows) : mergeRows(list, staying, rows);
  return changesBetween(list, present, after);
}

/** The names of the columns. Empty cells at the end are no columns. */
function namesOf(header: CsvRecord): string[] {
  const names = header.cells.map((cell) => cell.trim());
  const last = names.findLastIndex((name) => name !== '');
  return names.slice(0, last + 1);
}

/** The list with these columns, in any order. Moments may be missing, and columns without a name. */
function listOf(names: readonly string[]): List | undefined {
  const named = names.filter((name) => name !== '');
  const isTwice = new Set(named).size < named.length;
  if (isTwice) return undefined;
  return Object.values(LISTS).find(({ fileColumns }) => {
    const needed = fileColumns.filter((column) => !MOMENTS.includes(column));
    const areKnown = named.every((name) => fileColumns.includes(name));
    return areKnown && needed.every((column) => named.includes(column));
  });
}

function headerFault(names: readonly string[]): string {
  if (names.includes('position'))
    return 'the column position is not read: the order of the lines is the order. Take the column out.';
  const forms = Object.values(LISTS).map(({ fileColumns }) => fileColumns.join(','));
  const example = commandLine('codes', 'export');
  return `the columns are "${names.join(',')}". Needed are ${forms.join(', or ')}, as this writes them: ${example}`;
}

async function unknownLists(client: Client, rows: readonly FileRow[]): Promise<Fault[]> {
  const known = await columnOf(client, 'select name::text from public.code_list');
  const faults: Fault[] = [];
  for (const { line, row } of rows) {
    const name = String(row['code_list']);
    // An empty name is a fault already
    if (name !== '' && !known.includes(name)) faults.push({ line, message: `there is no list "${name}".` });
  }
  return faults;
}

function mergeRows(list: List, staying: readonly Row[], rows: readonly FileRow[]): Row[] {
  const merged = new Map(staying.map((row) => [keyOf(list, row), row]));
  for (const { row } of rows) merged.set(keyOf(list, row), row);
  return [...merged.values()];
}

/** Lists that the file does not name stay as they are. */
function arrangeLists(staying: readonly Row[], rows: readonly FileRow[]): Row[] {
  const wanted = rows.map(({ row }) => row);
  const wantedOfList = groupBy(wanted, (row) => row['code_list']);
  const formerOfList = groupBy(staying, (row) => row['code_list']);
  const names = new Set([...formerOfList.keys(), ...wantedOfList.keys()]);
  return [...names].flatMap((name) => arrangeValues(formerOfList.get(name) ?? [], wantedOfList.get(name) ?? []));
}

function describeFaults(path: string, faults: readonly Fault[]): string {
  const sorted = faults.toSorted((one, other) => one.line - other.line);
  const lines = sorted.slice(0, MAX_FAULTS).map(({ line, message }) => `${path}, line ${line}: ${message}`);
  const others = sorted.length - lines.length;
  if (others > 0) lines.push(`… and ${others} more`);
  lines.push('Nothing was written.');
  return lines.join('\n');
}
