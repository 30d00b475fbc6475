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
  readonly lines: readonly number[];
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
  const faults: Fault[] = [];
  const [header, ...records] = recordsOf(path, bytes, faults);
  const list = listOf(path, header);
  const seen = new Map<string, number>();
  const highest = new Map<string, { position: number; line: number }>();
  const rows = records.map(({ record, line }) => {
    const row = Object.fromEntries(
      header?.record.map((name, at) => [name, record[at] ?? '']) ?? [],
    );
    const tell = (said: string): void => void faults.push({ line, said });
    checkTexts(list, row, tell);
    for (const name of MOMENTS) row[name] = canonical(name, row[name] ?? '', tell);
    const { valid_from: from = '', valid_until: until = '' } = row;
    if (from !== '' && (from === until || Date.parse(from) > Date.parse(until)))
      tell('valid_until is not after valid_from. Swap or correct them.');
    const key = keyOf(list, row);
    if (seen.has(key))
      tell(
        `${list.key.map((name) => `${name} ${JSON.stringify(row[name])}`).join(', ')} stands in line ${seen.get(key)} already. Take one of them out.`,
      );
    else seen.set(key, line);
    checkPosition(row, line, highest, tell);
    return row;
  });
  if (rows.length > MOST_ROWS)
    faults.push({
      line: records[MOST_ROWS]?.line ?? 0,
      said: `there are more than ${MOST_ROWS} rows. Split the file.`,
    });
  assertNone(path, faults);
  return { list, rows, lines: records.map(({ line }) => line) };
}

interface Parsed {
  readonly record: readonly string[];
  readonly line: number;
}

/** The records with as many fields as the header. What is wrong with others is added to `faults`. */
function recordsOf(path: string, bytes: Uint8Array, faults: Fault[]): Parsed[] {
  const text = new TextDecoder().decode(bytes);
  if (!isUtf8(bytes)) {
    const line = text.split('\n').findIndex((one) => one.includes('\ufffd')) + 1;
    assertNone(path, [{ line, said: 'it is not in UTF-8. Save the file as "CSV UTF-8".' }]);
  }
  const above = SEPARATOR.test(text) ? 1 : 0;
  const header = text.split(/\r\n|\n|\r/, above + 1)[above] ?? '';
  const lineOf = (last: number, record: string): number =>
    last + above - (record.trim().match(/\n/g)?.length ?? 0);
  let isLost = false; // after a wrong quote the parser does not know what is between quotes
  const parsed = parse(text.replace(SEPARATOR, ''), {
    bom: true,
    info: true,
    delimiter: header.includes(';') ? ';' : ',',
    skip_empty_lines: true,
    // Exported lines end with CRLF, and lines that somebody appends may end with LF
    record_delimiter: text.includes('\n') ? ['\r\n', '\n'] : ['\r'],
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined, raw = '') => {
      if (!error || isLost) return;
      const isLength = error.code === 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH';
      isLost = !isLength;
      faults.push({
        line: lineOf(Number(error['lines']), raw),
        said: isLength
          ? 'it has more or fewer fields than the header. Put texts with separators between quotes.'
          : 'its quotes are wrong. A text with quotes stands between quotes, its own ones doubled ("").',
      });
    },
  }) as unknown as { record: string[]; info: { lines: number } }[];
  return parsed.map(({ record, info }) => ({ record, line: lineOf(info.lines, record.join()) }));
}

function listOf(path: string, header: Parsed | undefined): ListTable {
  const names = header?.record ?? [];
  const list = Object.values<ListTable>(LISTS).find(({ key }) =>
    key.every((name) => names.includes(name)),
  );
  const isRight =
    list &&
    new Set(names).size === names.length &&
    names.every((name) => list.columns.includes(name)) &&
    list.columns.every((name) => name === 'position' || names.includes(name));
  const wanted = (list ? [list] : Object.values(LISTS)).map(({ columns }) => columns.join(','));
  if (!isRight)
    assertNone(path, [
      {
        line: header?.line ?? 1,
        said: `${header ? `the columns are ${JSON.stringify(names.join(','))}` : 'the file is empty'}. Needed are ${wanted.join(', or ')}, as this writes them: ${typed('codes', 'export')}`,
      },
    ]);
  return list as ListTable;
}

type Tell = (said: string) => void;

function checkTexts({ texts }: ListTable, row: Row, tell: Tell): void {
  for (const [name, most] of Object.entries(texts)) {
    const text = row[name] ?? '';
    const shown = `${name} ${JSON.stringify(text.slice(0, 60))}`;
    if (text === '') tell(`${name} is empty. Write it, or take the line out.`);
    else if (text.trim() !== text) tell(`${shown} begins or ends with a space. Take it away.`);
    else if (CONTROL.test(text))
      tell(`${shown} has a control character or a line break. Take it out.`);
    else if (Array.from(text).length > most)
      tell(`${shown} is longer than ${most} characters. Shorten it.`);
  }
}

/** Positions may be left out. The order of the lines counts, so those that are there must not contradict it. */
function checkPosition(
  { code_list: name = '', position = '' }: Row,
  line: number,
  highest: Map<string, { position: number; line: number }>,
  tell: Tell,
): void {
  if (position === '') return;
  const former = highest.get(name);
  if (!/^[1-9]\d{0,8}$/.test(position))
    tell(
      `position is ${JSON.stringify(position)}. A whole number from 1 on is needed, or nothing: the order of the lines counts.`,
    );
  else if (former && Number(position) <= former.position)
    tell(
      `position ${position} stands behind position ${former.position} of line ${former.line}. The order of the lines counts: sort them, or leave positions empty.`,
    );
  else highest.set(name, { position: Number(position), line });
}

/** A moment as readRows has it, or nothing. */
function canonical(name: string, text: string, tell: Tell): string {
  if (text === '') return '';
  const time = parseTime(text);
  const [, digits = ''] = MICROSECONDS.exec(text) ?? [];
  const second = time === undefined ? '0000' : new Date(time).toISOString().slice(0, 19);
  if (!second.startsWith('0000')) return `${second}.${digits}`.replace(/\.?0*$/, 'Z');
  tell(
    `${name} is ${JSON.stringify(text)}. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.`,
  );
  return '';
}
