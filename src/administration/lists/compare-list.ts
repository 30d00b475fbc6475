import type { Client } from 'pg';
import { groupBy } from '../../codes/group-by.js';
import type { TableChanges } from './list-migration.js';
import { type Row, keyOf, readRows } from './list-tables.js';
import { type Fault, type ListFile, assertNone } from './read-list-file.js';

/**
 * What brings the table to what the file says.
 * @param complete whether rows that the file lacks go
 * @throws AdministrationError with the lines whose list is unknown, or whose position is not the one that their place gives them
 */
export async function compareList(
  client: Client,
  path: string,
  { list, rows }: ListFile,
  complete: boolean,
): Promise<TableChanges> {
  const key = (row: Row): string => keyOf(list, row);
  const present = new Map((await readRows(client, list)).map((row) => [key(row), row]));
  const named = new Set(rows.map(key));
  const isGone = (row: Row): boolean => complete && !named.has(key(row));
  const stays = [...present.values()].filter((row) => !isGone(row));
  let wanted = rows;
  if (list.columns.includes('position')) {
    const lists = await client.query<{ name: string }>('select name::text from public.code_list');
    const former = groupBy(stays, ({ code_list: name }) => name);
    for (const { name } of lists.rows) former.set(name, former.get(name) ?? []);
    const groups = [...groupBy(rows, ({ code_list: name }) => name)];
    assertNone(
      path,
      groups.flatMap(([name, own]) => faultsOf(own, former.get(name))),
    );
    wanted = groups.flatMap(([name, own]) => arranged(former.get(name) ?? [], own));
  }
  const after = wanted.filter((row) =>
    list.columns.some((name) => present.get(key(row))?.[name] !== (row[name] ?? '')),
  );
  const changed = new Set(after.map(key));
  const before = [...present.values()].filter((row) => isGone(row) || changed.has(key(row)));
  return { before, after };
}

/** @param old the present rows of a list, undefined if there is no such list */
function faultsOf(own: readonly Row[], old?: readonly Row[]): Fault[] {
  const [places, before] = [arranged(old ?? [], own), old ?? []].map(
    (rows) => new Map(rows.map(({ value, position }) => [value, position])),
  );
  // In a file with all values of a list their order says everything
  const isWhole = places?.size === own.length;
  return own.flatMap(({ line, value, position = '', code_list: name }): Fault[] => {
    const place = places?.get(value);
    const isRight = isWhole || ['', place, before?.get(value)].includes(position);
    if (old && isRight) return [];
    const said = old
      ? `position ${position} contradicts the order of the lines, which gives it ${place}, since the file lacks values of ${name}. Write all of them, or leave the position empty.`
      : `there is no list "${name}". Correct its name, or create it by a migration first.`;
    return [[Number(line), said]];
  });
}

/** One list in the order of the file, with its present positions, and new ones behind them. What the file lacks stays behind what it stands behind now. */
function arranged(old: readonly Row[], own: readonly Row[]): Row[] {
  const rows = new Map([...old, ...own].map((row) => [row['value'], row]));
  const order = own.map(({ value }) => value);
  for (const [at, { value }] of old.entries())
    if (!order.includes(value)) order.splice(order.indexOf(old[at - 1]?.['value']) + 1, 0, value);
  const next = Number(old.at(-1)?.['position'] ?? 0) + 1 - old.length;
  return order.map((value, at) => ({
    ...rows.get(value),
    position: old[at]?.['position'] ?? String(next + at),
  }));
}
