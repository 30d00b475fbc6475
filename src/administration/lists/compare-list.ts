import { type ListTable, type Row, keyOf } from './list-tables.js';
import { groupBy } from '../../codes/group-by.js';

/** What brings a table to what a file says. */
export interface ListChanges {
  readonly inserts: readonly Row[];
  readonly updates: readonly { readonly before: Row; readonly after: Row }[];
  readonly deletes: readonly Row[];
}

/** @param complete whether rows that the file lacks go */
export function compareList(
  list: ListTable,
  present: readonly Row[],
  file: readonly Row[],
  complete: boolean,
): ListChanges {
  const wanted = list.columns.includes('position')
    ? withPositions(list, present, file, complete)
    : file;
  const before = new Map(present.map((row) => [keyOf(list, row), row]));
  const inserts: Row[] = [];
  const updates: { before: Row; after: Row }[] = [];
  for (const row of wanted) {
    const former = before.get(keyOf(list, row));
    if (!former) inserts.push(row);
    else if (list.columns.some((name) => (former[name] ?? '') !== (row[name] ?? '')))
      updates.push({ before: former, after: row });
  }
  const named = new Set(file.map((row) => keyOf(list, row)));
  const deletes = complete ? present.filter((row) => !named.has(keyOf(list, row))) : [];
  return { inserts, updates, deletes };
}

/** The rows of the file, and those that it lacks and that stay, with the positions that their order gives them. */
function withPositions(
  list: ListTable,
  present: readonly Row[],
  file: readonly Row[],
  complete: boolean,
): Row[] {
  const nameOf = ({ code_list = '' }: Row): string => code_list;
  const [former, lines] = [groupBy(present, nameOf), groupBy(file, nameOf)];
  return [...lines].flatMap(([name, rows]) => {
    const named = new Set(rows.map((row) => keyOf(list, row)));
    const old = (former.get(name) ?? []).filter((row) => !complete || named.has(keyOf(list, row)));
    // What the file lacks stays behind what it stands behind now
    const followers = new Map<string, Row[]>();
    let behind: Row[] = [];
    const first = behind;
    for (const row of old) {
      const key = keyOf(list, row);
      if (named.has(key)) followers.set(key, (behind = []));
      else behind.push(row);
    }
    const order = [
      ...first,
      ...rows.flatMap((row) => [row, ...(followers.get(keyOf(list, row)) ?? [])]),
    ];
    const isOnlyLonger = old.every((row, at) => keyOf(list, row) === keyOf(list, order[at] ?? {}));
    const last = Number(old.at(-1)?.['position'] ?? 0);
    return order.map((row, at) => {
      const kept = at < old.length ? old[at]?.['position'] : last + 1 + at - old.length;
      return { ...row, position: String(isOnlyLonger ? kept : at + 1) };
    });
  });
}
