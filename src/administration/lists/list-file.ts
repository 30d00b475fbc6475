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

/** How many faults of a file are told. */
const TOLD = 20;
/** No space at the ends, no line break or control character. */
const CLEAN = /^(?!\s)[^\p{Cc}\u2028\u2029]+(?<!\s)$/u;

/** What is wrong with a line of a file, and how to correct it. */
type Fault = readonly [line: number, said: string];

/** @throws AdministrationError with the first faults, each with its line */
function assertNone(path: string, faults: readonly Fault[]): void {
  if (faults.length === 0) return;
  const sorted = faults.toSorted(([one], [other]) => one - other).slice(0, TOLD);
  const told = sorted.map(([line, said]) => `${path}, line ${line}: ${said}`);
  if (faults.length > TOLD) told.push(`… and ${faults.length - TOLD} more`);
  refuse(`${told.join('\n')}\nNothing was written.`);
}

/**
 * What brings a table to what a file says, which `codes export` wrote or a spreadsheet saved.
 * @param complete whether rows that the file lacks go
 * @throws AdministrationError with the lines of the first faults and what to do; then nothing of the file counts
 */
export async function changesFrom(client: Client, path: string, complete: boolean) {
  const faults: Fault[] = [];
  const { list, rows } = await readListFile(path, faults);
  const present = await readRows(client, list);
  const stays = present.filter((row) => !complete || rows.has(keyOf(list, row)));
  let wanted = [...rows.values()];
  if (list === LISTS['code-lists']) {
    const known = await textsOf(client, 'select name::text from public.code_list');
    for (const { line, code_list: name } of wanted)
      if (!known.includes(`${name}`)) faults.push([Number(line), `there is no list "${name}".`]);
    const former = groupBy(stays, ({ code_list: name }) => name);
    wanted = [...groupBy(wanted, ({ code_list: name }) => name)].flatMap(([name, own]) =>
      arranged(former.get(name) ?? [], own, faults),
    );
  }
  assertNone(path, faults);
  const after = new Map([...stays, ...wanted].map((row) => [keyOf(list, row), row]));
  return compare(list, present, [...after.values()]);
}

/** Its rows are by their keys, in the order of the file. Their member `line` is the line, from 1, on which the row begins. */
async function readListFile(path: string, faults: Fault[]) {
  const bytes = await readFile(path).catch((error: Error) => {
    refuse(`${path} cannot be read: ${error.message}.`);
  });
  // Without a byte order mark. Exported lines end with CRLF, and lines that somebody appends may end with LF
  const text = new TextDecoder().decode(bytes).replace(/\r\n?/g, '\n');
  const { length } = text.split('\ufffd', 1)[0]?.split('\n') ?? [];
  if (!isUtf8(bytes)) assertNone(path, [[length, 'it is not in UTF-8. Save it as "CSV UTF-8".']]);
  const [[, names] = [1, []], ...records] = recordsOf(text, faults);
  if (names.length === 0) assertNone(path, faults);
  const list = listOf(path, names);
  const rows = new Map<string, Row>();
  for (const [line, fields] of records) {
    const row = Object.fromEntries(names.map((name, at) => [name, fields[at] ?? '']));
    row['line'] = String(line);
    if (fields.length !== names.length)
      faults.push([line, 'it has more or fewer fields than the header. Are there quotes missing?']);
    else for (const said of faultsOf(list, row, rows)) faults.push([line, said]);
  }
  return { list, rows };
}

/** The lines on which the records begin, and their fields. It ends at the first wrong quote: behind it nobody knows what is between quotes. */
function recordsOf(text: string, faults: Fault[]) {
  const first = text.startsWith('sep=') ? 2 : 1; // by this line Excel knows the separator
  const found: [line: number, fields: string[]][] = [];
  let next = first;
  try {
    parse(text, {
      delimiter: /^.*;/.test(text) ? ';' : ',',
      from_line: first,
      skip_empty_lines: true,
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

function listOf(path: string, names: readonly string[]): Table {
  const lists = Object.values<Table>(LISTS);
  const list = lists.find(({ columns }) => columns.toSorted().join() === names.toSorted().join());
  const needed = lists.map(({ columns }) => columns.join()).join(', or ');
  const said = `${path}, line 1: the columns are "${names.join()}". Needed are ${needed}, as this writes them: ${typed('codes', 'export')}\nNothing was written.`;
  return list ?? refuse(said);
}

/** Shortens the moments of a row as well, and adds the row to the former ones. */
function* faultsOf(list: Table, row: Record<string, string>, former: Map<string, Row>) {
  for (const name of list.columns) {
    const text = row[name] ?? '';
    const shown = `${name} is ${JSON.stringify(text.slice(0, 60))}`;
    const most = name === 'description' ? MAX_DESCRIPTION_CHARACTERS : MAX_CODE_CHARACTERS;
    if (MOMENTS.includes(name)) {
      row[name] = parseTime(text) ?? '';
      if (text && !row[name])
        yield `${shown}. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.`;
    } else if (name !== 'position' && (!CLEAN.test(text) || Array.from(text).length > most))
      yield `${shown}. 1 to ${most} characters are needed, no space at the ends, no line break or control character.`;
  }
  const { valid_from: from = '', valid_until: until = '' } = row;
  if (from && (from === until || Date.parse(from) > Date.parse(until)))
    yield 'valid_until is not after valid_from. Swap or correct them.';
  const same = former.get(keyOf(list, row));
  if (same) yield `${list.key.join(' and ')} are those of line ${same['line']}. Take one line out.`;
  else former.set(keyOf(list, row), row);
}

/**
 * The rows of one list in the order of the file, with their present positions, and new ones behind them. What the file lacks stays behind what it
 * stands behind now. The order counts: positions may be left out, and those that are there must not contradict it.
 */
function arranged(old: readonly Row[], own: readonly Row[], faults: Fault[]): Row[] {
  const order = [...own];
  for (const [at, row] of old.entries())
    if (!own.some(({ value }) => value === row['value']))
      order.splice(order.findIndex(({ value }) => value === old[at - 1]?.['value']) + 1, 0, row);
  const place = ({ position, line, value }: Row): string =>
    `position ${position} of ${line ? `line ${line}` : `${value} (the file lacks it)`}`;
  let [last, line]: [Row?, Row[string]?] = [];
  for (const row of order.filter(({ position }) => position)) {
    line = row['line'] ?? line;
    const isAbove = Number(row['position']) > Number(last?.['position'] ?? 0);
    const said = `${place(row)} is no number above ${last ? place(last) : 0}. The order of the lines counts: sort them, or leave positions empty.`;
    if (!isAbove) faults.push([Number(line ?? 1), said]);
    if (isAbove || !row['line']) last = row;
  }
  const next = Number(old.at(-1)?.['position'] ?? 0) + 1 - old.length;
  return order.map((row, at) => ({ ...row, position: old[at]?.['position'] ?? String(next + at) }));
}
