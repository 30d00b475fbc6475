import type { Client } from 'pg';
import { type Fault, assertNone } from './faults.js';
import type { TableChanges } from './list-migration.js';
import { type ListTable, type Row, keyOf, readRows } from './list-tables.js';
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
  const { list, rows, lines } = file;
  const present = await readRows(client, list);
  const before = new Map(present.map((row) => [keyOf(list, row), row]));
  const named = new Set(rows.map((row) => keyOf(list, row)));
  const deletes = complete ? present.filter((row) => !named.has(keyOf(list, row))) : [];
  let wanted: readonly Row[] = rows;
  if (list.table === 'code_list_value') {
    const { rows: lists } = await client.query<{ name: string }>(
      'select name::text from public.code_list',
    );
    const known = new Set(lists.map(({ name }) => name));
    const stays = complete ? present.filter((row) => named.has(keyOf(list, row))) : present;
    wanted = withPositions(list, stays, rows);
    const positions = new Map(wanted.map((row) => [keyOf(list, row), row['position']]));
    const partial = new Set(
      stays.filter((row) => !named.has(keyOf(list, row))).map((row) => row['code_list']),
    );
    const faults = rows.flatMap((row, at): Fault[] => {
      const { code_list: name = '', position = '' } = row;
      const line = lines[at] ?? 0;
      if (!known.has(name))
        return [
          {
            line,
            said: `there is no list ${JSON.stringify(name)}. Correct its name, or create it by a migration first.`,
          },
        ];
      const key = keyOf(list, row);
      const place = positions.get(key);
      // In a file with all values of a list their order says everything
      return !partial.has(name) || ['', place, before.get(key)?.['position']].includes(position)
        ? []
        : [
            {
              line,
              said: `position ${position} contradicts the order of the lines, which gives it ${place}, since the file lacks values of ${name}. Write all values of the list, or leave the position empty.`,
            },
          ];
    });
    assertNone(path, faults);
  }
  const inserts: Row[] = [];
  const updates: { before: Row; after: Row }[] = [];
  for (const row of wanted) {
    const former = before.get(keyOf(list, row));
    if (!former) inserts.push(row);
    else if (list.columns.some((name) => (former[name] ?? '') !== (row[name] ?? '')))
      updates.push({ before: former, after: row });
  }
  return { inserts, updates, deletes };
}

/** The rows of the file, and those that it lacks and that stay, with the positions that their order gives them. */
function withPositions(list: ListTable, present: readonly Row[], file: readonly Row[]): Row[] {
  const [former, lines] = [byList(present), byList(file)];
  return [...lines].flatMap(([name, rows]) => {
    const named = new Set(rows.map((row) => keyOf(list, row)));
    const old = former.get(name) ?? [];
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

function byList(rows: readonly Row[]): Map<string, Row[]> {
  const lists = new Map<string, Row[]>();
  for (const row of rows) {
    const name = row['code_list'] ?? '';
    lists.set(name, [...(lists.get(name) ?? []), row]);
  }
  return lists;
}
