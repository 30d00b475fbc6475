// What was served at a moment in the past: the present rows, with all later changes undone. So the record before that moment is not needed.
import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode } from '../../database/entities.js';
import { type CodeRows, assertServable } from '../../lookups/code-rows.js';
import { refuse } from '../frame/command.js';

/** Of the first transaction in the record a part may be deleted. */
const BEGIN = `select coalesce(max(changed_at), now()) as begin from public.history
  where (transaction_id, begun_at) = (select transaction_id, begun_at from public.history order by changed_at limit 1)`;

const BY_CODE = 'code_type collate "C", code collate "C"'; // as readCodes has them

/** @param moment in milliseconds since the epoch; a transaction counts from its last recorded statement: nobody got half of one */
export async function readPast(manager: EntityManager, moment: number): Promise<CodeRows> {
  const [row] = await manager.query<{ begin: Date }[]>(BEGIN);
  if (row && moment < row.begin.getTime())
    refuse(
      `The record of changes begins at ${row.begin.toISOString()}, and what was answered before is not known.`,
    );
  const rows = {
    properties: await rowsAt(manager.getRepository(AreaProperty), moment, 'area, position'),
    values: await rowsAt(manager.getRepository(CodeListValue), moment, 'code_list, position'),
    records: await rowsAt(manager.getRepository(CommunicationCode), moment, BY_CODE),
  };
  assertServable(rows);
  return rows;
}

/** The rows whose keys no later change names, and of the other keys the rows before the first change that names them. */
function rowsAt<Row extends ObjectLiteral>(rows: Repository<Row>, moment: number, order: string) {
  const { tableName, primaryColumns } = rows.metadata;
  const key = primaryColumns.map(({ databaseName }) => `whole ->> '${databaseName}'`).join(', ');
  // A full join is never a nested loop, whatever the statistics say
  const query = `with named as (
      select distinct on (key) at, whole, array[${key}] as key from public.history, unnest(array[old_row, new_row]) with ordinality side (whole, at)
      where table_name = '${tableName}' and whole is not null
        and (transaction_id, begun_at) in (select transaction_id, begun_at from public.history where changed_at > '${new Date(moment).toISOString()}')
      order by key, id, at),
    present as (select array[${key}] as key, whole from public.${tableName} t, to_jsonb(t) whole)
    select former.* from named full join present using (key), jsonb_populate_record(null::public.${tableName}, coalesce(named.whole, present.whole)) former
    where at is distinct from 2`;
  return rows
    .createQueryBuilder('t')
    .addCommonTableExpression(query, tableName) // which stands for the table
    .orderBy(order)
    .getMany();
}
