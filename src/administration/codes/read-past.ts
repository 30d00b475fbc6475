// What was served at a moment in the past: the present rows, with all later changes undone. So the record before that
// moment is not needed. A transaction counts from its last recorded statement, since nobody got half of one.
import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode } from '../../database/entities.js';
import { type CodeRows, assertServable } from '../../lookups/code-rows.js';
import { refuse } from '../frame/command.js';

/** A part of the first transaction in the record may have been deleted, so the record counts from its end. */
const BEGIN_OF_RECORD = `
  select coalesce(max(changed_at), now()) as begin
  from public.history
  where (transaction_id, begun_at) = (
    select transaction_id, begun_at from public.history order by changed_at limit 1
  )`;

/** @throws UnservableRows if the content could not be served */
export async function readPast(manager: EntityManager, momentMs: number): Promise<CodeRows> {
  const [row] = await manager.query<{ begin: Date }[]>(BEGIN_OF_RECORD);
  if (row && momentMs < row.begin.getTime())
    refuse(
      `The record of changes begins at ${row.begin.toISOString()}, and what was answered before is not known.`,
    );
  const rows = {
    properties: await rowsAt(manager.getRepository(AreaProperty), momentMs, 'area, position'),
    values: await rowsAt(manager.getRepository(CodeListValue), momentMs, 'code_list, position'),
    records: await rowsAt(
      manager.getRepository(CommunicationCode),
      momentMs,
      'code_type collate "C", code collate "C"',
    ),
  };
  assertServable(rows);
  return rows;
}

/**
 * The rows of a table at a moment, as entities. A common table expression that is called like the table stands for it,
 * so the repository reads from it.
 */
function rowsAt<Row extends ObjectLiteral>(
  repository: Repository<Row>,
  momentMs: number,
  order: string,
): Promise<Row[]> {
  const { tableName, primaryColumns } = repository.metadata;
  const key = primaryColumns.map(({ databaseName }) => databaseName);
  return repository
    .createQueryBuilder('t')
    .addCommonTableExpression(formerRows(tableName, key, momentMs), tableName)
    .orderBy(order)
    .getMany();
}

/**
 * For each key that a later change names: the row as it was before the first of these changes, or none if that one made
 * the row (side 2 is its new row). For all other keys: the present row. A full join is never a nested loop, whatever
 * the statistics say.
 */
function formerRows(table: string, key: readonly string[], momentMs: number): string {
  const keyOfRow = key.map((column) => `row_there ->> '${column}'`).join(', ');
  const moment = new Date(momentMs).toISOString();
  return `
    with later_transaction as (
      select transaction_id, begun_at from public.history where changed_at > '${moment}'
    ),
    first_change as (
      select distinct on (key) array[${keyOfRow}] as key, row_there, side
      from public.history, unnest(array[old_row, new_row]) with ordinality as sides (row_there, side)
      where table_name = '${table}' and row_there is not null
        and (transaction_id, begun_at) in (select transaction_id, begun_at from later_transaction)
      order by key, id, side
    ),
    present as (
      select array[${keyOfRow}] as key, row_there from public.${table} t, to_jsonb(t) as row_there
    )
    select former.*
    from first_change
    full join present using (key),
    jsonb_populate_record(null::public.${table}, coalesce(first_change.row_there, present.row_there)) as former
    where side is distinct from 2`;
}
