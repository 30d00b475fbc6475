// What was served at a moment in the past: the present rows, with all later changes undone, the last one first. So it needs the record of
// changes only from that moment on, and only the columns that it knows.
import type { EntityManager, ObjectLiteral } from 'typeorm';
import { AreaProperty } from '../../database/entities/area-property.entity.js';
import { CodeListValue } from '../../database/entities/code-list-value.entity.js';
import { CommunicationCode } from '../../database/entities/communication-code.entity.js';
import { type CodeRows, assertServable, recordOf } from '../../lookups/code-rows.js';

/** @param moment in milliseconds since the epoch; a transaction counts from its last recorded statement: nobody got half of one */
export async function readPast(manager: EntityManager, moment: number): Promise<CodeRows> {
  const types = new Map<string, string>();
  const records = sorted(await rowsAt(manager, CommunicationCode, moment), 'codeType', 'code');
  const rows = {
    properties: sorted(await rowsAt(manager, AreaProperty, moment), 'area', 'position'),
    values: sorted(await rowsAt(manager, CodeListValue, moment), 'codeList', 'position'),
    records: records.map((row) => recordOf(row, types)),
  };
  assertServable(rows);
  return rows;
}

/** When the record of changes begins, in milliseconds since the epoch, or undefined if it is empty. Of its first transaction a part may be deleted. */
export async function beginOfRecord(manager: EntityManager): Promise<number | undefined> {
  const [row] = await manager.query<{ begin: number | null }[]>(
    `select (extract(epoch from max(changed_at)) * 1000)::float8 as begin from public.history
     where (transaction_id, begun_at) = (select transaction_id, begun_at from public.history order by changed_at limit 1)`,
  );
  return row?.begin ?? undefined;
}

type Json = Readonly<Record<string, unknown>>;

async function rowsAt<Row extends ObjectLiteral>(
  manager: EntityManager,
  entity: new () => Row,
  moment: number,
): Promise<Row[]> {
  const { tableName, columns, primaryColumns } = manager.connection.getMetadata(entity);
  const keyOf = (row: Row): string =>
    JSON.stringify(primaryColumns.map(({ propertyName }) => row[propertyName] as unknown));
  const rowOf = (json: Json): Row =>
    Object.fromEntries(
      columns.map(({ propertyName, databaseName, transformer = [] }) => [
        propertyName,
        [transformer].flat().reduce<unknown>((value, one) => one.from(value), json[databaseName]),
      ]),
    ) as Row;
  const rows = new Map((await manager.find(entity)).map((row) => [keyOf(row), row]));
  const changes = await manager.query<{ former: Json | null; later: Json | null }[]>(
    `select old_row as former, new_row as later from public.history
     where table_name = $2 and (transaction_id, begun_at) in (select transaction_id, begun_at from public.history where changed_at > $1)
     order by id desc`,
    [new Date(moment).toISOString(), tableName],
  );
  for (const { former, later } of changes) {
    if (later) rows.delete(keyOf(rowOf(later)));
    if (former) rows.set(keyOf(rowOf(former)), rowOf(former));
  }
  return [...rows.values()];
}

/** In code-point order, as collation "C" has it, and by number. */
const sorted = <Row>(rows: Row[], first: keyof Row, second: keyof Row): Row[] =>
  rows.sort((a, b) => compare(a[first], b[first]) || compare(a[second], b[second]));

const compare = (one: unknown, other: unknown): number =>
  typeof one === 'number'
    ? one - Number(other)
    : Buffer.compare(Buffer.from(one as string), Buffer.from(other as string));
