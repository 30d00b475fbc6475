import type { Client } from 'pg';
import { groupBy } from '../../codes/group-by.js';
import { type Fault, assertNone } from './faults.js';
import type { TableChanges } from './list-migration.js';
import { type Row, keyOf, readRows } from './list-tables.js';
import type { ListFile } from './read-list-file.js';

/**
 * What brings the table to what the file says.
 * @param complete whether rows that the file lacks go
 * @throws AdministrationError with the lines whose list is unknown, or whose position is not the one that their place gives them
 */
export async function compareList(
  client: Client,
  path: string,
  file: ListFile,
  complete: boolean,
): Promise<TableChanges> {
  const { list, rows } = file;
  const present = await readRows(client, list);
  const before = new Map(present.map((row) => [keyOf(list, row), row]));
  const named = new Set(rows.map((row) => keyOf(list, row)));
  const isNamed = (row: Row): boolean => named.has(keyOf(list, row));
  const stays = complete ? present.filter(isNamed) : present;
  const deletes = complete ? present.filter((row) => !isNamed(row)) : [];
  const wanted = list.columns.includes('position')
    ? await withPositions(client, path, file, stays)
    : rows;
  const updates = wanted.flatMap((after) => {
    const former = before.get(keyOf(list, after));
    const differs = former && list.columns.some((name) => former[name] !== (after[name] ?? ''));
    return differs ? [{ before: former, after }] : [];
  });
  return { inserts: wanted.filter((row) => !before.has(keyOf(list, row))), updates, deletes };
}

/** The rows of the file, and those of their lists that it lacks and that stay, with the positions that their order gives them. */
async function withPositions(
  client: Client,
  path: string,
  { rows, lines }: ListFile,
  stays: readonly Row[],
): Promise<Row[]> {
  const { rows: lists } = await client.query<{ names: string[] }>(
    'select array_agg(name::text) as names from public.code_list',
  );
  const former = groupBy(stays, (row) => row['code_list']);
  const faults: Fault[] = [];
  const wanted: Row[] = [];
  for (const [name = '', own] of groupBy(rows, (row) => row['code_list'])) {
    const old = former.get(name) ?? [];
    const order = arranged(old, own);
    const isKnown = lists[0]?.names.includes(name);
    const before = new Map(old.map(({ value, position }) => [value, position]));
    const places = new Map(order.map(({ value, position }) => [value, position]));
    for (const row of own) {
      const { value, position = '' } = row;
      const line = lines.get(row) ?? 0;
      if (!isKnown)
        faults.push({
          line,
          said: `there is no list ${JSON.stringify(name)}. Correct its name, or create it by a migration first.`,
        });
      // In a file with all values of a list their order says everything
      else if (
        order.length > own.length &&
        !['', places.get(value), before.get(value)].includes(position)
      )
        faults.push({
          line,
          said: `position ${position} contradicts the order of the lines, which gives it ${places.get(value)}, since the file lacks values of ${name}. Write all values of the list, or leave the position empty.`,
        });
    }
    wanted.push(...order);
  }
  assertNone(path, faults);
  return wanted;
}

/** One list in the order of the file. What the file lacks stays behind what it stands behind now. */
function arranged(old: readonly Row[], own: readonly Row[]): Row[] {
  const order = own.map((row) => row['value']);
  const rows = new Map([...old, ...own].map((row) => [row['value'], row]));
  for (const [at, { value }] of old.entries())
    if (!order.includes(value)) order.splice(order.indexOf(old[at - 1]?.['value']) + 1, 0, value);
  // A list that only gets longer keeps its positions, also where they have gaps
  const isOnlyLonger = old.every(({ value }, at) => value === order[at]);
  const last = Number(old.at(-1)?.['position'] ?? 0);
  return order.map((value, at) => {
    const kept = old[at]?.['position'] ?? String(last + 1 + at - old.length);
    return { ...rows.get(value), position: isOnlyLonger ? kept : String(at + 1) };
  });
}
