import type { Client } from 'pg';
import { groupBy } from '../../codes/group-by.js';
import { type Row, keyOf, readRows } from './list-tables.js';
import { type Fault, type ListFile, assertNone } from './read-list-file.js';

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
