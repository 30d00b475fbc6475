// Reads rows from a CSV file (RFC 4180) as spreadsheets save it: with commas or semicolons, and any line ends.
// Checks its form and its times. PostgreSQL's constraints check all other cells when the migration is tried.
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse/sync';
import type { Column, Table } from '../../database/tables.js';
import { OperatorError, toMessage } from '../../telemetry/error-message.js';
import { formatCommandLine } from '../cli/program.js';
import { parseTime } from '../cli/time.js';
import { CSV_TABLES, POSITION, type Row, isTime, joinFields, listFileColumns } from './csv-tables.js';

export interface CsvFile {
  readonly table: Table;
  readonly rows: readonly Row[];
}

interface Fault {
  readonly line: number;
  readonly message: string;
}

interface CsvRecord {
  readonly cells: readonly string[];
  /** The line of the file on which the record begins. */
  readonly line: number;
}

interface CsvText {
  /** The names of the columns. A column without a name has an empty text. */
  readonly header: readonly string[];
  readonly headerLine: number;
  readonly records: readonly CsvRecord[];
  readonly faults: readonly Fault[];
}

const MAX_FAULTS = 20;
const SHOWN_CHARACTERS = 60;
/** The beginning of a formula. Scripts write the formula ="007", so that a spreadsheet keeps the zeros. */
const FORMULA_CELL = /(?:^|[,;])=/;

/** @throws OperatorError with all faults of the form, each with its line in the file */
export async function readCsvFile(path: string): Promise<CsvFile> {
  const { header, headerLine, records, faults } = parseCsv(await readBytes(path));
  const names = header.filter((name) => name !== '');
  const table = findTable(names);
  if (!table) {
    const headerFaults = faults.length > 0 ? faults : [{ line: headerLine, message: describeHeader(names) }];
    throw toOperatorError(path, headerFaults);
  }
  const columns = listFileColumns(table).filter(({ name }) => names.includes(name));
  const allFaults = [...faults];
  const firstLines = new Map<string, number>();
  const rows: Row[] = [];
  for (const record of records) {
    const row = toRow(columns, header, record);
    const key = joinFields(row, table.key);
    const messages = [...findUnnamedCells(header, record), ...findWrongTimes(columns, row)];
    const firstLine = firstLines.get(key);
    if (firstLine === undefined) firstLines.set(key, record.line);
    else messages.push(`it has the same ${table.key.join(' and ')} as line ${firstLine}. Remove one of the two lines.`);
    rows.push(row);
    allFaults.push(...messages.map((message) => ({ line: record.line, message })));
  }
  if (allFaults.length > 0) throw toOperatorError(path, allFaults);
  return { table, rows };
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    const [reason] = toMessage(error).split(','); // after the comma Node.js repeats the path
    throw new OperatorError(`${path} cannot be read: ${reason}. Nothing was written.`);
  }
}

/** Returns all records, or only those before the first wrong quote: after it, nobody knows which text is quoted. */
function parseCsv(bytes: Uint8Array): CsvText {
  if (!isUtf8(bytes)) return reportFault(1, 'the file is not in UTF-8. Save it as "CSV UTF-8".');
  // TextDecoder removes the byte order mark. Line ends may differ, because somebody may have appended a line
  const text = new TextDecoder().decode(bytes).replaceAll(/\r\n?/g, '\n');
  const nulAt = text.indexOf('\0');
  if (nulAt >= 0) {
    const line = text.slice(0, nulAt).split('\n').length;
    return reportFault(line, 'the file contains U+0000, as a file in UTF-16 does. Save it as "CSV UTF-8".');
  }
  let nextLine = 1; // the line on which the next record begins
  const records: CsvRecord[] = [];
  const faults: Fault[] = [];
  try {
    parse(text, {
      delimiter: findDelimiter(text),
      relax_column_count: true,
      // If `parse` throws, it returns no records. `on_record` has then collected the records before the fault
      on_record: (cells: string[], { lines: lastLine }) => {
        if (!isBlank(cells)) records.push({ cells, line: nextLine });
        // With `skip_empty_lines`, this would not run for an empty line: the record below would get the line's number
        nextLine = lastLine + 1;
      },
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    faults.push(describeWrongQuote(text, nextLine));
  }
  const [header = { cells: [], line: 1 }, ...others] = records;
  const names = header.cells.map((name) => name.trim());
  return { header: names, headerLine: header.line, records: others, faults };
}

function reportFault(line: number, message: string): CsvText {
  return { header: [], headerLine: 1, records: [], faults: [{ line, message }] };
}

/** Returns `;` if the header contains it: Excel writes semicolons if the comma is the decimal sign. */
function findDelimiter(text: string): string {
  const header = text.split('\n').find(hasText) ?? '';
  return header.includes(';') ? ';' : ',';
}

/** Returns false for a line such as `;"";`, which has only separators and empty quotes. */
function hasText(line: string): boolean {
  return /[^\s,;]/.test(line.replaceAll('""', ''));
}

/** Returns true for an empty line, and for a line of only separators. Spreadsheets write such lines. */
function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === '');
}

function describeWrongQuote(text: string, line: number): Fault {
  const content = text.split('\n')[line - 1] ?? '';
  const message = FORMULA_CELL.test(content)
    ? 'it has a formula, such as ="007". Write only the text, such as 007.'
    : 'its quotes are wrong. If a cell is in quotes, write "" for each quote in its text.';
  return { line, message };
}

/** Returns the table with these columns, in any order. The file may lack nullable columns, such as valid_from. */
function findTable(names: readonly string[]): Table | undefined {
  if (new Set(names).size < names.length) return undefined;
  return Object.values(CSV_TABLES).find((table) => {
    const columns = listFileColumns(table);
    const areKnown = names.every((name) => columns.some((column) => column.name === name));
    return areKnown && columns.every(({ name, isNullable }) => isNullable || names.includes(name));
  });
}

function describeHeader(names: readonly string[]): string {
  if (names.length === 0) return 'the file is empty.';
  if (names.includes(POSITION)) {
    return 'the column position is not read: the order of the lines is the order of the values. Remove the column.';
  }
  const forms = Object.values(CSV_TABLES).map((table) =>
    listFileColumns(table)
      .map(({ name }) => name)
      .join(','),
  );
  const exportCommand = formatCommandLine('codes', 'export');
  const needed = `The columns ${forms.join(', or ')} are needed`;
  return `the columns are "${names.join(',')}". ${needed}, as in a file of this command: ${exportCommand}`;
}

/** Returns the fields of a record. A wrong time stays as it is, and `findWrongTimes` reports it. */
function toRow(columns: readonly Column[], header: readonly string[], { cells }: CsvRecord): Row {
  const fields = columns.map((column) => {
    const text = cells[header.indexOf(column.name)] ?? ''; // empty if the line ends before this cell
    const time = isTime(column) ? parseTime(text) : undefined;
    return [column.name, time ?? text] as const;
  });
  return Object.fromEntries(fields);
}

function findUnnamedCells(header: readonly string[], { cells }: CsvRecord): string[] {
  const messages: string[] = [];
  for (const [index, cell] of cells.entries()) {
    const isNamed = Boolean(header[index]);
    if (isNamed || cell === '') continue;
    messages.push(`its field ${index + 1} is ${quoteStart(cell)}, and that column has no name. Are quotes missing?`);
  }
  return messages;
}

/** Returns a message for each wrong time. PostgreSQL would guess its zone, or the month in 01/02/2027. */
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
  return JSON.stringify(start); // `runProgram` escapes invisible characters
}

function toOperatorError(path: string, faults: readonly Fault[]): OperatorError {
  const sorted = faults.toSorted((one, other) => one.line - other.line);
  const lines = sorted.slice(0, MAX_FAULTS).map(({ line, message }) => `${path}, line ${line}: ${message}`);
  const others = sorted.length - lines.length;
  if (others > 0) lines.push(`… and ${others} more`);
  lines.push('Nothing was written.');
  return new OperatorError(lines.join('\n'));
}
