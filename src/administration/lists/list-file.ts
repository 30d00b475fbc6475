import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Client } from 'pg';
import { groupBy } from '../../collections/group-by.js';
import { MAX_CODE_CHARACTERS, MAX_DESCRIPTION_CHARACTERS } from '../../problems/limits.js';
import { typed, refuse } from '../frame/command.js';
import { textsOf } from '../frame/connect.js';
import { parseTime } from '../frame/time.js';
import { LISTS, MOMENTS, type Row, type Table, compare, keyOf, readRows } from './list-tables.js';

/** How many faults of a file are reported. */
const MOST_FAULTS = 20;
/** No space at the ends, no line break or control character. */
const CLEAN = /^(?!\s)[^\p{Cc}\u2028\u2029]+(?<!\s)$/u;

/** What is wrong with a line of a file, and how to correct it. */
type Fault = readonly [line: number, message: string];

/** @throws AdministrationError with the first faults, each with its line */
function assertNone(path: string, faults: readonly Fault[]): void {
  if (faults.length === 0) return;
  const sorted = faults.toSorted(([one], [other]) => one - other).slice(0, MOST_FAULTS);
  const lines = sorted.map(([line, message]) => `${path}, line ${line}: ${message}`);
  if (faults.length > MOST_FAULTS) lines.push(`… and ${faults.length - MOST_FAULTS} more`);
  refuse(`${lines.join('\n')}\nNothing was written.`);
}

/**
 * What brings a table to what a file says, which `codes export` wrote or a spreadsheet saved.
 * @param complete whether rows that the file lacks go
 * @throws AdministrationError with the lines of the first faults and what to do; then nothing of the file counts
 */
export async function changesFrom(client: Client, path: string, complete: boolean) {
  const faults: Fault[] = [];
  const [[, names] = [1, []], ...records] = recordsOf(await textOf(path), faults);
  if (names.length === 0) assertNone(path, faults);
  const list = listOf(path, names);
  const present = await readRows(client, list);
  const rows = rowsOf(list, names, records, present, faults);
  const stays = present.filter((row) => !complete || rows.has(keyOf(list, row)));
  let wanted = [...rows.values()];
  if (list === LISTS['code-lists']) {
    const known = await textsOf(client, 'select name::text from public.code_list');
    for (const { line, code_list: name } of wanted)
      if (!known.includes(`${name}`)) faults.push([Number(line), `there is no list "${name}".`]);
    const former = groupBy(stays, ({ code_list: name }) => name);
    wanted = [...groupBy(wanted, ({ code_list: name }) => name)].flatMap(([name, fresh]) =>
      arranged(former.get(name) ?? [], fresh, faults),
    );
  }
  assertNone(path, faults);
  const after = new Map([...stays, ...wanted].map((row) => [keyOf(list, row), row]));
  return compare(list, present, [...after.values()]);
}

/** Without a byte order mark. Exported lines end with CRLF, and lines that somebody appends may end with LF. */
async function textOf(path: string): Promise<string> {
  const bytes = await readFile(path);
  if (!isUtf8(bytes))
    refuse(`${path} is not in UTF-8. Save it as "CSV UTF-8".\nNothing was written.`);
  return new TextDecoder().decode(bytes).replace(/\r\n?/g, '\n');
}

/** The lines on which the records begin, and their fields. It ends at the first wrong quote: behind it nobody knows what is between quotes. */
function recordsOf(text: string, faults: Fault[]) {
  const found: [line: number, fields: string[]][] = [];
  let next = 1;
  try {
    parse(text, {
      delimiter: /^.*;/.test(text) ? ';' : ',',
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      relax_column_count: true,
      on_record: (fields: string[], { lines }) => {
        found.push([lines + 1 - fields.join().split('\n').length, fields]);
        next = lines + 1;
      },
    });
  } catch {
    const at = text.split('\n').findIndex((one, index) => index >= next - 1 && one !== '');
    faults.push([at + 1, 'its quotes are wrong. Between quotes, write "" for each quote.']);
  }
  return found;
}

/** The columns may come in any order, and moments may be missing. */
function listOf(path: string, names: readonly string[]): Table {
  const lists = Object.values<Table>(LISTS);
  const known = [...names, ...MOMENTS.filter((name) => !names.includes(name))].toSorted().join();
  const list = lists.find(({ columns }) => columns.toSorted().join() === known);
  if (list) return list;
  const needed = lists.map(({ columns }) => columns.join()).join(', or ');
  return refuse(
    `${path}, line 1: the columns are "${names.join()}". Needed are ${needed}, as this writes them: ${typed('codes', 'export')}\nNothing was written.`,
  );
}

/** By their keys, in the order of the file. The member `line` is the line, from 1, on which the row begins. Moments that the file has no column for stay. */
function rowsOf(
  list: Table,
  names: readonly string[],
  records: ReturnType<typeof recordsOf>,
  present: readonly Row[],
  faults: Fault[],
): Map<string, Row> {
  const former = new Map(present.map((row) => [keyOf(list, row), row]));
  const rows = new Map<string, Row>();
  for (const [line, fields] of records) {
    const row: Record<string, string> = { line: String(line) };
    for (const [at, name] of names.entries()) row[name] = fields[at] ?? '';
    for (const name of MOMENTS) row[name] ??= String(former.get(keyOf(list, row))?.[name] ?? '');
    if (fields.length === names.length)
      for (const message of faultsOf(list, row, rows)) faults.push([line, message]);
    else
      faults.push([line, 'it has more or fewer fields than the header. Are there quotes missing?']);
  }
  return rows;
}

/** Shortens the moments of a row as well, and adds the row to those above it. */
function* faultsOf(list: Table, row: Record<string, string>, above: Map<string, Row>) {
  for (const name of list.columns) {
    const text = row[name] ?? '';
    const shown = `${name} is ${JSON.stringify(text.slice(0, 60))}`;
    const most = name === 'description' ? MAX_DESCRIPTION_CHARACTERS : MAX_CODE_CHARACTERS;
    if (MOMENTS.includes(name)) {
      row[name] = parseTime(text) ?? '';
      if (text && !row[name])
        yield `${shown}. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.`;
    } else if (name === 'position') {
      if (!/^\d*$/.test(text)) yield `${shown}. A whole number is needed, or nothing.`;
    } else if (!CLEAN.test(text) || Array.from(text).length > most)
      yield `${shown}. 1 to ${most} characters are needed, no space at the ends, no line break or control character.`;
  }
  const { valid_from: from = '', valid_until: until = '' } = row;
  if (from && (from === until || Date.parse(from) > Date.parse(until)))
    yield 'valid_until is not after valid_from. Swap or correct them.';
  const same = above.get(keyOf(list, row));
  if (same) yield `${list.key.join(' and ')} are those of line ${same['line']}. Take one line out.`;
  else above.set(keyOf(list, row), row);
}

/**
 * The rows of one list in the order of the file, with their present positions, and new ones behind them. Positions may be left out, and those that
 * are there must not contradict the order.
 */
function arranged(former: readonly Row[], wanted: readonly Row[], faults: Fault[]): Row[] {
  const order = merged(former, wanted);
  const place = ({ position, line, value }: Row): string =>
    `position ${position} of ${line ? `line ${line}` : `${value} (the file lacks it)`}`;
  const placed = order.filter(({ position }) => /^\d+$/.test(`${position}`));
  for (const [at, row] of placed.entries()) {
    const above = placed[at - 1];
    if (!above || Number(row['position']) > Number(above['position'])) continue;
    const line = row['line'] ?? above['line'] ?? wanted[0]?.['line'];
    const message = `${place(row)} is not above ${place(above)}. The order of the lines counts: sort them, or leave positions empty.`;
    faults.push([Number(line), message]);
  }
  const next = Number(former.at(-1)?.['position'] ?? 0) + 1 - former.length;
  return order.map((row, at) => ({
    ...row,
    position: former[at]?.['position'] ?? String(next + at),
  }));
}

/** In the order of the file. What the file lacks stays behind the value that it stands behind now. */
function merged(former: readonly Row[], wanted: readonly Row[]): Row[] {
  const order = [...wanted];
  const named = new Set(wanted.map(({ value }) => value));
  for (const [at, row] of former.entries()) {
    if (named.has(row['value'] ?? null)) continue;
    const predecessor = former[at - 1]?.['value'];
    order.splice(order.findIndex(({ value }) => value === predecessor) + 1, 0, row);
  }
  return order;
}
