import { MAX_CODE_CHARACTERS, MAX_DESCRIPTION_CHARACTERS } from '../../problems/limits.js';
import { parseTime } from '../cli/time.js';
import { invisibleCharactersOf, isSpreadsheetError, showInvisible } from './characters.js';
import type { CsvRecord, Fault } from './csv-file.js';
import { type List, MOMENTS, type Row, keyOf } from './list-tables.js';

/** A row that a file asks for. */
export interface FileRow {
  readonly line: number;
  readonly row: Row;
}

interface Rows {
  /** By their keys, in the order of the file. */
  readonly rows: ReadonlyMap<string, FileRow>;
  readonly faults: readonly Fault[];
}

const CONTROL_CHARACTER = /[\p{Cc}\u2028\u2029]/u;
const SHOWN_CHARACTERS = 60;

/**
 * The records of a file as rows of a table.
 * @param header the names of the columns; an empty name is a column that has to be empty
 * @param present the rows of the table: moments that the file has no column for stay as they are
 */
export function rowsOf(
  list: List,
  header: readonly string[],
  records: readonly CsvRecord[],
  present: readonly Row[],
): Rows {
  const former = new Map(present.map((row) => [keyOf(list, row), row]));
  const rows = new Map<string, FileRow>();
  const faults: Fault[] = [];
  for (const { cells, line } of records) {
    const given = namedCells(header, cells);
    const key = keyOf(list, given);
    const row = withMoments(given, former.get(key));
    const same = rows.get(key);
    const messages = [...surplusFaults(header, cells), ...rowFaults(list, row)];
    if (same) messages.push(`${list.key.join(' and ')} are those of line ${same.line}. Take one line out.`);
    else rows.set(key, { line, row });
    for (const message of messages) faults.push({ line, message });
  }
  return { rows, faults };
}

/** Spreadsheets leave out the last cells of a line where they are empty. */
function namedCells(header: readonly string[], cells: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {};
  for (const [index, name] of header.entries()) if (name !== '') named[name] = cells[index] ?? '';
  return named;
}

function withMoments(given: Readonly<Record<string, string>>, former: Row | undefined): Row {
  const row: Record<string, string> = { ...given };
  for (const name of MOMENTS) {
    const text = given[name] ?? String(former?.[name] ?? '');
    row[name] = parseTime(text) ?? text; // what is no moment is a fault
  }
  return row;
}

/** Spreadsheets also add empty cells. A cell with text outside of the named columns is a fault. */
function surplusFaults(header: readonly string[], cells: readonly string[]): string[] {
  const messages: string[] = [];
  for (const [index, cell] of cells.entries()) {
    const isNamed = (header[index] ?? '') !== '';
    if (!isNamed && cell !== '')
      messages.push(`its field ${index + 1} is ${shown(cell)}, and that column has no name. Are quotes missing?`);
  }
  return messages;
}

function rowFaults(list: List, row: Row): string[] {
  const messages: string[] = [];
  for (const column of list.fileColumns) {
    const text = String(row[column] ?? '');
    const fault = cellFault(column, text);
    if (fault) messages.push(`${column} is ${shown(text)}${fault}`);
  }
  if (endsTooEarly(row)) messages.push('valid_until is not after valid_from. Swap or correct them.');
  return messages;
}

/** The end of a sentence that begins with the name of the column and its text. */
function cellFault(column: string, text: string): string | undefined {
  if (isSpreadsheetError(text)) return ', an error of the spreadsheet. Correct its formula, or widen the column.';
  if (MOMENTS.includes(column)) return momentFault(text);
  if (column === 'description') return textFault(text, MAX_DESCRIPTION_CHARACTERS);
  return textFault(text, MAX_CODE_CHARACTERS) ?? invisibleFault(text);
}

function momentFault(text: string): string | undefined {
  if (text === '' || parseTime(text)) return undefined;
  return '. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.';
}

/** As the function `is_clean` of the database judges it. */
function textFault(text: string, maxCharacters: number): string | undefined {
  const characters = Array.from(text).length;
  const isClean = text === text.trim() && !CONTROL_CHARACTER.test(text);
  if (characters >= 1 && characters <= maxCharacters && isClean) return undefined;
  return `. 1 to ${maxCharacters} characters are needed, no space at the ends, no line break or control character.`;
}

/** As the function `is_visible` of the database judges it. */
function invisibleFault(text: string): string | undefined {
  const characters = invisibleCharactersOf(text);
  if (characters.length === 0) return undefined;
  return `. Nobody sees or types ${characters.join(', ')} in it: write it anew.`;
}

/** Moments in UTC have the order of their texts, but for the Z, which would come behind a fraction. */
function endsTooEarly(row: Row): boolean {
  const [from = '', until = ''] = MOMENTS.map((name) => parseTime(String(row[name] ?? '')) ?? '');
  if (from === '' || until === '') return false;
  return from.replace('Z', '') >= until.replace('Z', '');
}

function shown(text: string): string {
  const start = Array.from(text).slice(0, SHOWN_CHARACTERS).join('');
  return showInvisible(JSON.stringify(start));
}
