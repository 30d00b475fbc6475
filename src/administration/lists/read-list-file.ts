import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse/sync';
import { parseTime } from '../codes/time.js';
import { AdministrationError } from '../frame/administration-error.js';
import { LISTS, type ListTable, MOMENTS, type Row, keyOf } from './list-tables.js';

export const MOST_ROWS = 100_000;
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
  const fault = (line: number, said: string): AdministrationError =>
    new AdministrationError(`${path}, line ${line}: ${said} Nothing was written.`);
  const text = decoded(bytes, fault);
  const [header, ...records] = parsed(text, fault);
  if (!header) throw fault(1, 'the file is empty. Columns as codes export writes them are needed.');
  const list = listOf(header.record, fault);
  if (records.length > MOST_ROWS)
    throw fault(
      records[MOST_ROWS]?.info.lines ?? 0,
      `there are more than ${MOST_ROWS} rows. Split the file.`,
    );
  const lines = new Map<string, number>();
  const positions = new Map<string, number>();
  const rows = records.map(({ record, info: { lines: line } }) => {
    const row: Record<string, string> = {};
    header.record.forEach((name, at) => (row[name] = record[at] ?? ''));
    for (const said of faultsOf(list, row)) throw fault(line, said);
    for (const name of MOMENTS) row[name] = canonical(row[name] ?? '');
    if (row['valid_from'] && row['valid_until'] && row['valid_from'] >= row['valid_until'])
      throw fault(line, 'valid_until is not after valid_from. Swap or correct them.');
    const key = keyOf(list, row);
    const former = lines.get(key);
    if (former !== undefined)
      throw fault(
        line,
        `${described(list, row)} stands in line ${former} already. Take one of them out.`,
      );
    lines.set(key, line);
    const { code_list: name = '', position = '' } = row;
    if (position !== '') {
      if (Number(position) < (positions.get(name) ?? 0))
        throw fault(
          line,
          `position ${position} stands behind ${positions.get(name)}. The order of the lines counts: sort them, or leave positions empty.`,
        );
      positions.set(name, Number(position));
    }
    return row;
  });
  return { list, rows };
}

type Fault = (line: number, said: string) => AdministrationError;

function decoded(bytes: Uint8Array, fault: Fault): string {
  const decode = (part: Uint8Array): string =>
    new TextDecoder('utf-8', { fatal: true }).decode(part);
  try {
    return decode(bytes);
  } catch {
    let [line, start] = [1, 0];
    for (let end = 0; end <= bytes.length; end++) {
      if (end < bytes.length && bytes[end] !== 0x0a) continue;
      try {
        decode(bytes.subarray(start, end));
      } catch {
        break;
      }
      [line, start] = [line + 1, end + 1];
    }
    throw fault(line, 'it is not in UTF-8. Save the file as "CSV UTF-8".');
  }
}

function parsed(text: string, fault: Fault): Parsed[] {
  try {
    return parse(text, { bom: true, info: true, skip_empty_lines: true }) as unknown as Parsed[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number(error['lines'] ?? 0);
    if (error.code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH')
      throw fault(
        line,
        'it has more or fewer fields than the header. Put texts with commas between quotes.',
      );
    throw fault(
      line,
      `its quotes are wrong. A text with quotes stands between quotes, its own ones doubled ("").`,
    );
  }
}

function listOf(header: readonly string[], fault: Fault): ListTable {
  if (header.length === 1 && header[0]?.includes(';'))
    throw fault(1, 'its columns are separated by semicolons. Save the file with commas.');
  const list = Object.values(LISTS).find(({ key }) => key.every((name) => header.includes(name)));
  const wanted = (list ? [list] : Object.values(LISTS)).map(({ columns }) => columns.join(','));
  const isRight =
    list &&
    new Set(header).size === header.length &&
    header.every((name) => list.columns.includes(name)) &&
    list.columns.every((name) => name === 'position' || header.includes(name));
  if (!isRight)
    throw fault(
      1,
      `the columns are ${JSON.stringify(header.join(','))}. Needed are ${wanted.join(', or ')}, as codes export writes them.`,
    );
  return list;
}

function* faultsOf({ texts }: ListTable, row: Row): Generator<string> {
  for (const [name, most] of Object.entries(texts)) {
    const text = row[name] ?? '';
    const shown = `${name} ${JSON.stringify(text.slice(0, 60))}`;
    if (text === '') yield `${name} is empty. Write it, or take the line out.`;
    if (text.trim() !== text) yield `${shown} begins or ends with a space. Take it away.`;
    if (CONTROL.test(text)) yield `${shown} has a control character or a line break. Take it out.`;
    if (Array.from(text).length > most)
      yield `${shown} is longer than ${most} characters. Shorten it.`;
  }
  for (const name of MOMENTS) {
    const text = row[name] ?? '';
    if (text !== '' && (parseTime(text) === undefined || canonical(text).startsWith('0000')))
      yield `${name} is ${JSON.stringify(text)}. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.`;
  }
  const { position = '' } = row;
  if (position !== '' && !/^[1-9]\d{0,8}$/.test(position))
    yield `position is ${JSON.stringify(position)}. A whole number from 1 on is needed, or nothing: the order of the lines counts.`;
}

/** As readRows has it; the text has to be a moment, or empty. */
function canonical(text: string): string {
  const time = parseTime(text);
  if (time === undefined) return '';
  const [, digits = ''] = MICROSECONDS.exec(text) ?? [];
  return `${new Date(time).toISOString().slice(0, 19)}.${digits.padEnd(6, '0')}`;
}

const described = ({ key }: ListTable, row: Row): string =>
  key.map((name) => `${name} ${JSON.stringify(row[name])}`).join(', ');
