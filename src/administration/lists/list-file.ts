import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Client } from 'pg';
import { groupBy } from '../../collections/group-by.js';
import { MAX_CODE_CHARACTERS, MAX_DESCRIPTION_CHARACTERS } from '../../problems/limits.js';
import { typed, refuse } from '../frame/command.js';
import { columnOf } from '../frame/connect.js';
import { parseTime } from '../frame/time.js';
import { LISTS, MOMENTS, type Row, type Table, compare, keyOf, readRows } from './list-tables.js';

const MOST_FAULTS = 20;
const CLEAN = /^(?!\s)[^\p{Cc}\u2028\u2029]+(?<!\s)$/u;

type Fault = readonly [line: number, message: string];

function refuseFile(path: string, faults: readonly Fault[]): never {
  const lines = faults
    .toSorted(([one], [other]) => one - other)
    .map(([line, message]) => `${path}, line ${line}: ${message}`);
  const more = lines.splice(MOST_FAULTS).length;
  if (more > 0) lines.push(`… and ${more} more`);
  return refuse(`${lines.join('\n')}\nNothing was written.`);
}

/** What brings a table to what a file says. Rows that the file lacks go if it is complete, else they stay. A file with a fault is refused whole. */
export async function changesFrom(client: Client, path: string, complete: boolean) {
  const bytes = await readFile(path);
  if (!isUtf8(bytes))
    refuse(`${path} is not in UTF-8. Save it as "CSV UTF-8".\nNothing was written.`);
  const content = contentOf(new TextDecoder().decode(bytes));
  const { names, faults } = content;
  // In any order, and moments may be missing
  const given = [...names, ...MOMENTS.filter((name) => !names.includes(name))].toSorted().join();
  const lists = Object.values<Table>(LISTS);
  const list = lists.find(({ columns }) => columns.toSorted().join() === given);
  if (!list) {
    const needed = lists.map(({ columns }) => columns.join()).join(', or ');
    const fault = `the columns are "${names.join()}". Needed are ${needed}, as this writes them: ${typed('codes', 'export')}`;
    return refuseFile(path, [faults[0] ?? [1, fault]]);
  }
  const present = await readRows(client, list);
  const rows = rowsOf(list, content, present);
  const stays = present.filter((row) => !complete || rows.has(keyOf(list, row)));
  let wanted = [...rows.values()];
  if (list === LISTS['code-lists']) {
    const known = await columnOf(client, 'select name::text from public.code_list');
    for (const { line, code_list: name } of wanted)
      if (!known.includes(`${name}`)) faults.push([Number(line), `there is no list "${name}".`]);
    const former = groupBy(stays, ({ code_list: name }) => name);
    wanted = [...groupBy(wanted, ({ code_list: name }) => name)].flatMap(([name, fresh]) =>
      arranged(former.get(name) ?? [], fresh, faults),
    );
  }
  if (faults.length > 0) refuseFile(path, faults);
  const after = new Map([...stays, ...wanted].map((row) => [keyOf(list, row), row]));
  return compare(list, present, [...after.values()]);
}

/** The header, and the records with the lines on which they end, up to a wrong quote: behind it nobody knows what is between quotes. */
function contentOf(file: string) {
  const text = file.replace(/\r\n?/g, '\n'); // lines that somebody appends may end with LF
  const faults: Fault[] = [];
  const records: [end: number, fields: string[]][] = [];
  try {
    parse(text, {
      delimiter: /^.*;/.test(text) ? ';' : ',',
      skip_records_with_empty_values: true,
      relax_column_count: true,
      on_record: (fields: string[], { lines }) => void records.push([lines, fields]),
    });
  } catch {
    const [end] = records.at(-1) ?? [0];
    const at = text.split('\n').findIndex((one, index) => index >= end && one !== '');
    faults.push([at + 1, 'its quotes are wrong. Between quotes, write "" for each quote.']);
  }
  const [, names] = records.shift() ?? [0, []];
  return { names, records, faults };
}
type Content = ReturnType<typeof contentOf>;

/** By their keys, in the order of the file. The member `line` is the line, from 1, on which the row begins. Moments that the file has no column for stay. */
function rowsOf(list: Table, { names, records, faults }: Content, present: readonly Row[]) {
  const former = new Map(present.map((row) => [keyOf(list, row), row]));
  const rows = new Map<string, Row>();
  for (const [end, fields] of records) {
    const line = end + 1 - fields.join().split('\n').length;
    if (fields.length !== names.length) {
      faults.push([line, 'it has more or fewer fields than the header. Are there quotes missing?']);
      continue;
    }
    const given = Object.fromEntries(names.map((name, at) => [name, fields[at] ?? '']));
    const key = keyOf(list, given);
    const row: Record<string, Row[string]> = { ...former.get(key), ...given, line };
    for (const name of MOMENTS) row[name] = parseTime(`${row[name]}`) ?? row[name] ?? '';
    for (const message of faultsOf(list, row)) faults.push([line, message]);
    const same = rows.get(key)?.['line'];
    const twice = `${list.key.join(' and ')} are those of line ${same}. Take one line out.`;
    if (same) faults.push([line, twice]);
    else rows.set(key, row);
  }
  return rows;
}

function* faultsOf({ columns }: Table, row: Row) {
  for (const name of columns) {
    const text = String(row[name]);
    const shown = `${name} is ${JSON.stringify(text.slice(0, 60))}`;
    const most = name === 'description' ? MAX_DESCRIPTION_CHARACTERS : MAX_CODE_CHARACTERS;
    if (MOMENTS.includes(name)) {
      if (text && !parseTime(text))
        yield `${shown}. A moment such as 2027-01-01T00:00:00Z is needed, or nothing.`;
    } else if (name === 'position') {
      if (!/^\d*$/.test(text)) yield `${shown}. A whole number is needed, or nothing.`;
    } else if (!CLEAN.test(text) || Array.from(text).length > most)
      yield `${shown}. 1 to ${most} characters are needed, no space at the ends, no line break or control character.`;
  }
  const [from = '', until = ''] = MOMENTS.map((name) => parseTime(String(row[name])) ?? '');
  if (from && (from === until || Date.parse(from) > Date.parse(until)))
    yield 'valid_until is not after valid_from. Swap or correct them.';
}

/** A list in the order of the file, with its present positions, and new ones behind them. What the file lacks stays behind the value above it. */
function arranged(former: readonly Row[], wanted: readonly Row[], faults: Fault[]): Row[] {
  const order = [...wanted];
  for (const [at, row] of former.entries()) {
    if (wanted.some(({ value }) => value === row['value'])) continue;
    const above = order.findIndex(({ value }) => value === former[at - 1]?.['value']);
    order.splice(above + 1, 0, row);
  }
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
  return order.map((row, at) => ({ ...row, position: former[at]?.['position'] ?? `${next + at}` }));
}
