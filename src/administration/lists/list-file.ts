import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import type { Client } from 'pg';
import { groupBy } from '../../codes/group-by.js';
import { MAX_CODE_CHARACTERS, MAX_DESCRIPTION_CHARACTERS } from '../../problems/limits.js';
import { typed, refuse } from '../frame/command.js';
import { parseTime } from '../frame/time.js';
import { LISTS, MOMENTS, type Row, type Table, keyOf, readRows } from './list-tables.js';

/** How many faults of a file are told. */
const TOLD = 20;
/** No space at the ends, no line break or control character. */
const CLEAN = /^(?!\s)[^\p{Cc}\u2028\u2029]+(?<!\s)$/u;

interface ListFile {
  readonly list: Table;
  /** In the order of the file. The member `line` is the line, from 1, on which the row begins. */
  readonly rows: readonly Row[];
}

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
 * Reads a file as `codes export` writes it, or a spreadsheet saves it.
 * @throws AdministrationError with the lines of the first faults and what to do; then nothing of the file counts
 */
export async function readListFile(path: string): Promise<ListFile> {
  const bytes = await readFile(path).catch((error: Error) => {
    refuse(`${path} cannot be read: ${error.message}.`);
  });
  // Without a byte order mark. Exported lines end with CRLF, and lines that somebody appends may end with LF
  const text = new TextDecoder().decode(bytes).replace(/\r\n?/g, '\n');
  const { length } = text.split('\ufffd', 1)[0]?.split('\n') ?? [];
  if (!isUtf8(bytes)) assertNone(path, [[length, 'it is not in UTF-8. Save it as "CSV UTF-8".']]);
  const faults: Fault[] = [];
  const [[, names] = [1, []], ...records] = recordsOf(text, faults);
  const list = listOf(path, names);
  const former = new Map<string, Row>();
  const rows = records.map(([line, fields]) => {
    const row = Object.fromEntries(names.map((name, at) => [name, fields[at] ?? '']));
    row['line'] = String(line);
    if (fields.length !== names.length)
      faults.push([line, 'it has more or fewer fields than the header. Are there quotes missing?']);
    else for (const said of faultsOf(list, row, former)) faults.push([line, said]);
    return row;
  });
  assertNone(path, faults);
  return { list, rows };
}

/** The lines on which the records begin, and their fields. It ends at the first wrong quote: behind it nobody knows what is between quotes. */
function recordsOf(text: string, faults: Fault[]) {
  const above = text.startsWith('sep=') ? 1 : 0; // by this line Excel knows the separator
  const found: [line: number, fields: string[]][] = [];
  let next = above + 1;
  try {
    parse(text, {
      delimiter: text.split('\n')[above]?.includes(';') ? ';' : ',',
      from_line: above + 1,
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
  const given = names.toSorted().join();
  for (const list of Object.values<Table>(LISTS))
    for (const wanted of [list.columns, list.columns.filter((name) => name !== 'position')])
      if (wanted.toSorted().join() === given) return list;
  const needed = Object.values(LISTS).map(({ columns }) => columns.join());
  return refuse(
    `${path}, line 1: the columns are "${names.join()}". Needed are ${needed.join(', or ')}, as this writes them: ${typed('codes', 'export')}\nNothing was written.`,
  );
}

/**
 * Shortens the moments of a row as well.
 * @param former the rows before by their keys, and the last one with a position of each list by its name
 */
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
  const { valid_from: from = '', valid_until: until = '', code_list: name = '', position } = row;
  if (from && (from === until || Date.parse(from) > Date.parse(until)))
    yield 'valid_until is not after valid_from. Swap or correct them.';
  const same = former.get(keyOf(list, row));
  if (same) yield `${list.key.join(' and ')} are those of line ${same['line']}. Take one line out.`;
  else former.set(keyOf(list, row), row);
  // Positions may be left out. The order of the lines counts, so those that are there must not contradict it
  if (!position) return;
  const { position: last = 0, line = 1 } = former.get(name) ?? {};
  if (/^[1-9]\d{0,8}$/.test(position) && Number(position) > Number(last)) former.set(name, row);
  else
    yield `position ${position} is no number above ${last}, that of line ${line}. The order of the lines counts: sort them, or leave positions empty.`;
}

/**
 * What brings the table to what the file says: the rows that differ, as they are and as they will be.
 * @param complete whether rows that the file lacks go
 * @throws AdministrationError with the lines whose list is unknown, or whose position is not the one that their place gives them
 */
export async function compareList(client: Client, path: string, file: ListFile, complete: boolean) {
  const { list, rows } = file;
  const key = (row: Row): string => keyOf(list, row);
  const present = new Map((await readRows(client, list)).map((row) => [key(row), row]));
  const named = new Set(rows.map(key));
  const isGone = (row: Row): boolean => complete && !named.has(key(row));
  let wanted = rows;
  if (list.columns.includes('position')) {
    const lists = await client.query<{ name: string }>('select name::text from public.code_list');
    const known = new Set(lists.rows.map(({ name }) => name));
    const stays = [...present.values()].filter((row) => !isGone(row));
    const former = groupBy(stays, ({ code_list: name }) => name);
    const faults: Fault[] = rows
      .filter(({ code_list: name = '' }) => !known.has(name))
      .map(({ line, code_list: name }) => [Number(line), `there is no list "${name}".`]);
    wanted = [...groupBy(rows, ({ code_list: name }) => name)].flatMap(([name, own]) =>
      arranged(former.get(name) ?? [], own, faults),
    );
    assertNone(path, faults);
  }
  const after = wanted.filter((row) =>
    list.columns.some((name) => present.get(key(row))?.[name] !== (row[name] ?? '')),
  );
  const changed = new Set(after.map(key));
  const before = [...present.values()].filter((row) => isGone(row) || changed.has(key(row)));
  return { table: list, before, after };
}

/** One list in the order of the file, with its present positions, and new ones behind them. What the file lacks stays behind what it stands behind now. */
function arranged(old: readonly Row[], own: readonly Row[], faults: Fault[]): Row[] {
  const rows = new Map([...old, ...own].map((row) => [row['value'], row]));
  const before = new Map(old.map(({ value, position }) => [value, position]));
  const order = own.map(({ value }) => value);
  for (const [at, { value }] of old.entries())
    if (!order.includes(value)) order.splice(order.indexOf(old[at - 1]?.['value']) + 1, 0, value);
  const next = Number(old.at(-1)?.['position'] ?? 0) + 1 - old.length;
  return order.map((value, at) => {
    const place = old[at]?.['position'] ?? String(next + at);
    const { line, position = '' } = rows.get(value) ?? {};
    // In a file with all values of a list their order says everything
    if (line && order.length > own.length && !['', place, before.get(value)].includes(position)) {
      const said = `position ${position} contradicts the order of the lines, which gives it ${place}, since the file lacks values of the list. Write all of them, or leave the position empty.`;
      faults.push([Number(line), said]);
    }
    return { ...rows.get(value), position: place };
  });
}
