// A CSV file (RFC 4180) of one of the lists, as spreadsheets save it: with commas or semicolons, with any line ends, with
// or without a byte order mark. Lines of separators only are empty lines, and empty cells at the end count for nothing.
// Here is looked at its form; what its cells may hold is for the constraints of the table.
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { CsvError, type InfoRecord, parse } from 'csv-parse/sync';
import type { Column, Table } from '../../database/tables.js';
import { toMessage } from '../../telemetry/error-message.js';
import { showInvisible } from '../cli/invisible-characters.js';
import { CliError, commandLine } from '../cli/program.js';
import { parseTime } from '../cli/time.js';
import { LISTS, POSITION, type Row, isTime, joinFields, listFileColumns } from './csv-lists.js';

export interface CsvFile {
  readonly list: Table;
  readonly rows: readonly Row[];
}

interface Fault {
  readonly line: number;
  readonly message: string;
}

interface CsvRecord {
  readonly cells: Readonly<Record<string, string>>;
  /** All cells, also those for which the header has no name. */
  readonly allCells: readonly string[];
  /** The line on which the record begins. */
  readonly line: number;
}

interface CsvText {
  readonly header: readonly string[];
  readonly headerLine: number;
  readonly records: readonly CsvRecord[];
  readonly faults: readonly Fault[];
}

const MAX_FAULTS = 20;
const SHOWN_CHARACTERS = 60;

/** @throws CliError with all faults of the form, each with its line */
export async function readCsvFile(path: string): Promise<CsvFile> {
  const { header, headerLine, records, faults } = parseCsv(await readBytes(path));
  const named = header.filter((name) => name !== '');
  const list = findList(named);
  if (!list) {
    const headerFaults = faults.length > 0 ? faults : [{ line: headerLine, message: describeHeader(named) }];
    throw describeFaults(path, headerFaults);
  }
  const columns = listFileColumns(list).filter(({ name }) => named.includes(name));
  const found = [...faults];
  const lines = new Map<string, number>();
  const rows: Row[] = [];
  for (const record of records) {
    const row = toRow(columns, record);
    const key = joinFields(row, list.key);
    const messages = [...findSurplus(header, record), ...findWrongTimes(columns, row)];
    const sameLine = lines.get(key);
    if (sameLine !== undefined) {
      messages.push(`${list.key.join(' and ')} are those of line ${sameLine}. Take one line out.`);
    }
    lines.set(key, sameLine ?? record.line);
    rows.push(row);
    found.push(...messages.map((message) => ({ line: record.line, message })));
  }
  if (found.length > 0) throw describeFaults(path, found);
  return { list, rows };
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    const [reason] = toMessage(error).split(','); // behind it Node.js repeats the path
    throw new CliError(`${path} cannot be read: ${reason}. Nothing was written.`);
  }
}

/** Behind a wrong quote nobody knows what stands between quotes, so the records end there with a fault. */
function parseCsv(bytes: Uint8Array): CsvText {
  if (!isUtf8(bytes)) {
    const message = 'the file is not in UTF-8. Save it as "CSV UTF-8".';
    return { header: [], headerLine: 1, records: [], faults: [{ line: 1, message }] };
  }
  // TextDecoder takes the byte order mark off. Lines that somebody appended may end differently from the others
  const text = new TextDecoder().decode(bytes).replaceAll(/\r\n?/g, '\n');
  const headerLine = findNextLine(text, 0);
  let header: string[] = [];
  let lastLine = 0;
  const records: CsvRecord[] = [];
  const faults: Fault[] = [];
  try {
    parse(text, {
      columns: (names: string[]) => {
        header = names.map((name) => name.trim());
        lastLine = headerLine;
        // csv-parse would put the cells of all columns without a name into one field
        return header.map((name, index) => name || nameField(index));
      },
      delimiter: findDelimiter(text),
      relax_column_count: true,
      skip_records_with_empty_values: true,
      // The records before a fault count, too, and the result of `parse` would not have them
      on_record: (cells: Record<string, string>, { lines, error }: InfoRecord) => {
        const allCells = readInconsistent(error) ?? Object.values(cells);
        records.push({ cells, allCells, line: lines - countLineBreaks(allCells) });
        lastLine = lines;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const message = 'its quotes are wrong. Between quotes, write "" for each quote.';
    faults.push({ line: findNextLine(text, lastLine), message });
  }
  return { header, headerLine, records, faults };
}

/** Excel separates by semicolons where the comma is the decimal sign. No column has one in its name. */
function findDelimiter(text: string): string {
  const header = text.split('\n').find(hasText) ?? '';
  return header.includes(';') ? ';' : ',';
}

function nameField(index: number): string {
  return `field ${index + 1}`;
}

/** The cells of a record that has more or fewer of them than the header. */
function readInconsistent(error: CsvError | undefined): string[] | undefined {
  return error?.['record'] as string[] | undefined;
}

function countLineBreaks(cells: readonly string[]): number {
  return cells.join('').split('\n').length - 1;
}

/** The first line behind another one that is more than separators; lines count from 1. An empty text has one. */
function findNextLine(text: string, line: number): number {
  const lines = text.split('\n');
  const found = lines.findIndex((content, at) => at >= line && hasText(content));
  return Math.max(found, 0) + 1;
}

function hasText(line: string): boolean {
  return /[^\s,;]/.test(line);
}

/** The list with these columns, in any order. Those that may be null may be missing: older files lack a newer one. */
function findList(names: readonly string[]): Table | undefined {
  if (new Set(names).size < names.length) return undefined;
  return Object.values(LISTS).find((list) => {
    const columns = listFileColumns(list);
    const areKnown = names.every((name) => columns.some((column) => column.name === name));
    return areKnown && columns.every(({ name, isNullable }) => isNullable || names.includes(name));
  });
}

function describeHeader(names: readonly string[]): string {
  if (names.length === 0) return 'the file is empty.';
  if (names.includes(POSITION)) {
    return 'the column position is not read: the order of the lines is the order. Take the column out.';
  }
  const forms = Object.values(LISTS).map((list) =>
    listFileColumns(list)
      .map(({ name }) => name)
      .join(','),
  );
  const example = commandLine('codes', 'export');
  return `the columns are "${names.join(',')}". Needed are ${forms.join(', or ')}, as this writes them: ${example}`;
}

/** Spreadsheets leave out the last cells of a line where they are empty. A wrong time stays as it was written. */
function toRow(columns: readonly Column[], { cells }: CsvRecord): Row {
  const fields = columns.map((column) => {
    const text = cells[column.name] ?? '';
    const time = isTime(column) ? parseTime(text) : undefined;
    return [column.name, time ?? text] as const;
  });
  return Object.fromEntries(fields);
}

/** Spreadsheets also add empty cells. One with text, of which nobody knows what it is, is a fault. */
function findSurplus(header: readonly string[], { allCells }: CsvRecord): string[] {
  const messages: string[] = [];
  for (const [index, cell] of allCells.entries()) {
    const isNamed = Boolean(header[index]);
    if (isNamed || cell === '') continue;
    messages.push(`its ${nameField(index)} is ${quoteStart(cell)}, and that column has no name. Are quotes missing?`);
  }
  return messages;
}

/** PostgreSQL would read a time without its zone, and take a day of a spreadsheet by a setting. */
function findWrongTimes(columns: readonly Column[], row: Row): string[] {
  const messages: string[] = [];
  for (const column of columns) {
    const text = row[column.name];
    if (!isTime(column) || !text || parseTime(text) !== undefined) continue;
    messages.push(`${column.name} is ${quoteStart(text)}. A time such as 2027-01-01T00:00:00Z is needed, or nothing.`);
  }
  return messages;
}

function quoteStart(text: string): string {
  const start = Array.from(text).slice(0, SHOWN_CHARACTERS).join('');
  return showInvisible(JSON.stringify(start));
}

function describeFaults(path: string, faults: readonly Fault[]): CliError {
  const sorted = faults.toSorted((one, other) => one.line - other.line);
  const lines = sorted.slice(0, MAX_FAULTS).map(({ line, message }) => `${path}, line ${line}: ${message}`);
  const others = sorted.length - lines.length;
  if (others > 0) lines.push(`… and ${others} more`);
  lines.push('Nothing was written.');
  return new CliError(lines.join('\n'));
}
