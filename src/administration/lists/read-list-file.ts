import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse/sync';
import { AdministrationError, typed } from '../frame/command.js';
import { parseTime } from '../frame/time.js';
import { type Fault, assertNone } from './faults.js';
import { LISTS, type ListTable, MOMENTS, type Row, keyOf } from './list-tables.js';

const MOST_ROWS = 100_000;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
const MICROSECONDS = /\.(\d{1,6})\d*(?=Z|[+-])/i;
/** What Excel takes for the separator of the file, and leaves out. */
const SEPARATOR = /^\ufeff?sep=(.)\r?\n/;

export interface ListFile {
  readonly list: ListTable;
  /** In the order of the file. */
  readonly rows: readonly Row[];
  /** The line, from 1, on which each begins. */
  readonly lines: ReadonlyMap<Row, number>;
}

/**
 * Reads a file as `codes export` writes it, or a spreadsheet saves it.
 * @throws AdministrationError with the lines of the first faults and what to do; then nothing of the file counts
 */
export async function readListFile(path: string): Promise<ListFile> {
  const bytes = await readFile(path).catch((error: Error) => {
    throw new AdministrationError(`${path} cannot be read: ${error.message}.`);
  });
  return parseListFile(path, bytes);
}

export function parseListFile(path: string, bytes: Uint8Array): ListFile {
  const { names, records, faults } = parsed(path, bytes);
  const list = listOf(path, names);
  const former: Former = { lines: new Map(), highest: new Map() };
  const lines = new Map<Row, number>();
  for (const { record, line } of records) {
    for (const said of faultsOf(list, record, line, former)) faults.push({ line, said });
    const { valid_from: from = '', valid_until: until = '' } = record;
    lines.set({ ...record, valid_from: shortest(from), valid_until: shortest(until) }, line);
  }
  const excess = records[MOST_ROWS];
  if (excess)
    faults.push({
      line: excess.line,
      said: `there are more than ${MOST_ROWS} rows. Split the file.`,
    });
  assertNone(path, faults);
  return { list, rows: [...lines.keys()], lines };
}

interface Parsed {
  readonly names: readonly string[];
  readonly records: readonly { readonly record: Row; readonly line: number }[];
  /** Of records that are left out. */
  readonly faults: Fault[];
}

function parsed(path: string, bytes: Uint8Array): Parsed {
  const text = new TextDecoder().decode(bytes);
  if (!isUtf8(bytes)) {
    const line = text.split('\n').findIndex((one) => one.includes('\ufffd')) + 1;
    assertNone(path, [{ line, said: 'it is not in UTF-8. Save the file as "CSV UTF-8".' }]);
  }
  const above = SEPARATOR.test(text) ? 1 : 0;
  const header = text.split(/\r\n|\n|\r/, above + 1)[above] ?? '';
  const lineOf = (last: number, record: string): number =>
    last + above - (record.trim().match(/\n/g)?.length ?? 0);
  let names: string[] = [];
  const faults: Fault[] = [];
  let isLost = false; // after a wrong quote the parser does not know what is between quotes
  const found = parse(text.replace(SEPARATOR, ''), {
    bom: true,
    info: true,
    columns: (columns: string[]) => (names = columns),
    delimiter: header.includes(';') ? ';' : ',',
    skip_empty_lines: true,
    // Exported lines end with CRLF, and lines that somebody appends may end with LF
    record_delimiter: text.includes('\n') ? ['\r\n', '\n'] : ['\r'],
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined, raw = '') => {
      if (!error || isLost) return;
      isLost = error.code !== 'CSV_RECORD_INCONSISTENT_COLUMNS';
      faults.push({
        line: lineOf(Number(error['lines']), raw),
        said: isLost
          ? 'its quotes are wrong. A text with quotes stands between quotes, its own ones doubled ("").'
          : 'it has more or fewer fields than the header. Put texts with separators between quotes.',
      });
    },
  }) as unknown as { record: Row; info: { lines: number } }[];
  const records = found.map(({ record, info }) => ({
    record,
    line: lineOf(info.lines, Object.values(record).join()),
  }));
  return { names, records, faults };
}

function listOf(path: string, names: readonly string[]): ListTable {
  const all: readonly ListTable[] = Object.values(LISTS);
  const list = all.find(({ key }) => key.every((name) => names.includes(name)));
  const wanted = list?.columns.filter((name) => name !== 'position' || names.includes(name)) ?? [];
  // The same columns, in whatever order, and none of them twice
  if (list && [...names].sort().join() === [...wanted].sort().join()) return list;
  const needed = (list ? [list] : all).map(({ columns }) => columns.join(',')).join(', or ');
  const said =
    names.length > 0 ? `the columns are ${JSON.stringify(names.join())}` : 'the file is empty';
  throw new AdministrationError(
    `${path}, line 1: ${said}. Needed are ${needed}, as this writes them: ${typed('codes', 'export')}\nNothing was written.`,
  );
}

/** What the lines before say. */
interface Former {
  /** The line of each key. */
  readonly lines: Map<string, number>;
  /** The last position in each list. */
  readonly highest: Map<string, { position: number; line: number }>;
}

function* faultsOf(list: ListTable, row: Row, line: number, former: Former): Generator<string> {
  for (const [name, most] of Object.entries(list.texts)) {
    const text = row[name] ?? '';
    const shown = `${name} ${JSON.stringify(text.slice(0, 60))}`;
    if (text === '') yield `${name} is empty. Write it, or take the line out.`;
    else if (text.trim() !== text) yield `${shown} begins or ends with a space. Take it away.`;
    else if (CONTROL.test(text))
      yield `${shown} has a control character or a line break. Take it out.`;
    else if (Array.from(text).length > most)
      yield `${shown} is longer than ${most} characters. Shorten it.`;
  }
  for (const name of MOMENTS)
    if (row[name] && !shortest(row[name]))
      yield `${name} is ${JSON.stringify(row[name])}. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.`;
  const [from, until] = MOMENTS.map((name) => shortest(row[name] ?? ''));
  if (from && (from === until || Date.parse(from) > Date.parse(until ?? '')))
    yield 'valid_until is not after valid_from. Swap or correct them.';
  const key = keyOf(list, row);
  const same = former.lines.get(key);
  if (same !== undefined)
    yield `${list.key.map((name) => `${name} ${JSON.stringify(row[name])}`).join(', ')} stands in line ${same} already. Take one of them out.`;
  else former.lines.set(key, line);
  // Positions may be left out. The order of the lines counts, so those that are there must not contradict it
  const { code_list: name = '', position = '' } = row;
  if (position === '') return;
  const last = former.highest.get(name);
  if (!/^[1-9]\d{0,8}$/.test(position))
    yield `position is ${JSON.stringify(position)}. A whole number from 1 on is needed, or nothing: the order of the lines counts.`;
  else if (last && Number(position) <= last.position)
    yield `position ${position} stands behind position ${last.position} of line ${last.line}. The order of the lines counts: sort them, or leave positions empty.`;
  else former.highest.set(name, { position: Number(position), line });
}

/** A moment as readRows has it; empty if it is none. */
function shortest(text: string): string {
  const time = parseTime(text);
  if (time === undefined) return '';
  const [, digits = ''] = MICROSECONDS.exec(text) ?? [];
  const second = new Date(time).toISOString().slice(0, 19);
  return second.startsWith('0000') ? '' : `${second}.${digits}`.replace(/\.?0*$/, 'Z');
}
