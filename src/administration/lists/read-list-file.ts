import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse/sync';
import { parseTime } from '../frame/time.js';
import { AdministrationError } from '../frame/command.js';
import { LISTS, type ListTable, MOMENTS, type Row, keyOf } from './list-tables.js';

const MOST_ROWS = 100_000;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
const MICROSECONDS = /\.(\d{1,6})\d*(?=Z|[+-])/i;

interface Parsed {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

export interface ListFile {
  readonly list: ListTable;
  /** In the order of the file. */
  readonly rows: readonly Row[];
}

/**
 * Reads a file as `codes export` writes it, or a spreadsheet saves it.
 * @throws AdministrationError with the line of the first fault and what to do; then nothing of the file counts
 */
export async function readListFile(path: string): Promise<ListFile> {
  const bytes = await readFile(path).catch((error: Error) => {
    throw new AdministrationError(`${path} cannot be read: ${error.message}.`);
  });
  return parseListFile(path, bytes);
}

export function parseListFile(path: string, bytes: Uint8Array): ListFile {
  let line = 1; // of what is being read
  try {
    const [header, ...records] = parsed(bytes);
    if (!header)
      throw new Fault('the file is empty. Columns as codes export writes them are needed.');
    const list = listOf(header.record);
    const seen = { lines: new Map<string, number>(), positions: new Map<string, number>() };
    const rows = records.map(({ record, info }, at) => {
      line = info.lines;
      if (at === MOST_ROWS)
        throw new Fault(`there are more than ${MOST_ROWS} rows. Split the file.`);
      const row = Object.fromEntries(
        header.record.map((name, place) => [name, record[place] ?? '']),
      );
      assertClean(list, row);
      for (const name of MOMENTS) row[name] = canonical(name, row[name] ?? '');
      if (row['valid_from'] && row['valid_until'] && row['valid_from'] >= row['valid_until'])
        throw new Fault('valid_until is not after valid_from. Swap or correct them.');
      const key = keyOf(list, row);
      const former = seen.lines.get(key);
      if (former !== undefined)
        throw new Fault(
          `${list.key.map((name) => `${name} ${JSON.stringify(row[name])}`).join(', ')} stands in line ${former} already. Take one of them out.`,
        );
      seen.lines.set(key, line);
      assertInOrder(row, seen.positions);
      return row;
    });
    return { list, rows };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new AdministrationError(
      `${path}, line ${error.line ?? line}: ${error.message} Nothing was written.`,
    );
  }
}

/** What is wrong with a line, and how to correct it. */
class Fault extends Error {
  constructor(
    message: string,
    readonly line?: number,
  ) {
    super(message);
  }
}

function parsed(bytes: Uint8Array): Parsed[] {
  const text = new TextDecoder().decode(bytes);
  if (!isUtf8(bytes)) {
    const lines = text.split('\n');
    throw new Fault(
      'it is not in UTF-8. Save the file as "CSV UTF-8".',
      lines.findIndex((line) => line.includes('\ufffd')) + 1,
    );
  }
  try {
    return parse(text, {
      bom: true,
      info: true,
      skip_empty_lines: true,
      // Exported lines end with CRLF, and lines that somebody appends may end with LF
      record_delimiter: text.includes('\n') ? ['\r\n', '\n'] : ['\r'],
    }) as unknown as Parsed[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new Fault(
      error.code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH'
        ? 'it has more or fewer fields than the header. Put texts with commas between quotes.'
        : `its quotes are wrong. A text with quotes stands between quotes, its own ones doubled ("").`,
      Number(error['lines'] ?? 0),
    );
  }
}

function listOf(header: readonly string[]): ListTable {
  if (header.length === 1 && header[0]?.includes(';'))
    throw new Fault('its columns are separated by semicolons. Save the file with commas.');
  const list = Object.values(LISTS).find(({ key }) => key.every((name) => header.includes(name)));
  const isRight =
    list &&
    new Set(header).size === header.length &&
    header.every((name) => list.columns.includes(name)) &&
    list.columns.every((name) => name === 'position' || header.includes(name));
  if (isRight) return list;
  const wanted = (list ? [list] : Object.values(LISTS)).map(({ columns }) => columns.join(','));
  throw new Fault(
    `the columns are ${JSON.stringify(header.join(','))}. Needed are ${wanted.join(', or ')}, as codes export writes them.`,
  );
}

function assertClean({ texts }: ListTable, row: Row): void {
  for (const [name, most] of Object.entries(texts)) {
    const text = row[name] ?? '';
    const shown = `${name} ${JSON.stringify(text.slice(0, 60))}`;
    if (text === '') throw new Fault(`${name} is empty. Write it, or take the line out.`);
    if (text.trim() !== text)
      throw new Fault(`${shown} begins or ends with a space. Take it away.`);
    if (CONTROL.test(text))
      throw new Fault(`${shown} has a control character or a line break. Take it out.`);
    if (Array.from(text).length > most)
      throw new Fault(`${shown} is longer than ${most} characters. Shorten it.`);
  }
}

/** Positions may be left out. The order of the lines counts, so those that are there must not contradict it. */
function assertInOrder(row: Row, positions: Map<string, number>): void {
  const { code_list: name = '', position = '' } = row;
  if (position === '') return;
  if (!/^[1-9]\d{0,8}$/.test(position))
    throw new Fault(
      `position is ${JSON.stringify(position)}. A whole number from 1 on is needed, or nothing: the order of the lines counts.`,
    );
  const former = positions.get(name) ?? 0;
  if (Number(position) < former)
    throw new Fault(
      `position ${position} stands behind ${former}. The order of the lines counts: sort them, or leave positions empty.`,
    );
  positions.set(name, Number(position));
}

/** A moment as readRows has it, or nothing. */
function canonical(name: string, text: string): string {
  if (text === '') return '';
  const time = parseTime(text);
  const [, digits = ''] = MICROSECONDS.exec(text) ?? [];
  const moment =
    time === undefined
      ? ''
      : `${new Date(time).toISOString().slice(0, 19)}.${digits.padEnd(6, '0')}`;
  if (moment === '' || moment.startsWith('0000'))
    throw new Fault(
      `${name} is ${JSON.stringify(text)}. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.`,
    );
  return moment;
}
