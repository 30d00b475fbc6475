// What was served at a moment in the past: the present rows, with all later changes undone. So only the record after
// that moment is needed. The changes of a transaction count together, from its last recorded statement on: that is the
// best the record knows of its commit, and nobody got half of one.
import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode } from '../../database/entities.js';
import { type CodeRows, assertServable } from '../../lookups/code-rows.js';
import { refuse } from '../frame/command.js';

/**
 * The first moment of which the record is whole. Whoever deletes its older part may cut transactions in two: those that
 * had begun before the oldest row that is left. So the record counts from the last statement of them all, rounded up to
 * the millisecond, since a moment has no more.
 */
const BEGIN_OF_RECORD = `
  select date_trunc('milliseconds', coalesce(max(changed_at), now()) + interval '999 microseconds') as begin
  from public.history
  where begun_at <= (select min(changed_at) from public.history)`;

/** @throws UnservableRows if the content could not be served */
export async function readPast(manager: EntityManager, momentMs: number): Promise<CodeRows> {
  await assertRecorded(manager, momentMs);
  const properties = await rowsAt({
    repository: manager.getRepository(AreaProperty),
    momentMs,
    order: 'area, position',
  });
  const values = await rowsAt({
    repository: manager.getRepository(CodeListValue),
    momentMs,
    order: 'code_list, position',
  });
  const records = await rowsAt({
    repository: manager.getRepository(CommunicationCode),
    momentMs,
    order: 'code_type collate "C", code collate "C"',
  });
  const rows = { properties, values, records };
  assertServable(rows);
  return rows;
}

async function assertRecorded(manager: EntityManager, momentMs: number): Promise<void> {
  const [row] = await manager.query<{ begin: Date }[]>(BEGIN_OF_RECORD);
  if (!row) throw new Error('PostgreSQL does not tell where the record of changes begins');
  if (momentMs >= row.begin.getTime()) return;
  refuse(
    `The record of changes begins at ${row.begin.toISOString()}, and what was answered before is not known. ` +
      'Give a later moment.',
  );
}

interface PastRows<Row extends ObjectLiteral> {
  readonly repository: Repository<Row>;
  readonly momentMs: number;
  /** That of the answers, in columns of the table: the service's own reader sorts in the same way. */
  readonly order: string;
}

/**
 * The rows of a table at a moment, as entities. A common table expression that is called like the table stands in for
 * it, so the repository reads from it. It would not if the entity named a schema: then the present would pass for the
 * past.
 */
function rowsAt<Row extends ObjectLiteral>(options: PastRows<Row>): Promise<Row[]> {
  const { repository, momentMs, order } = options;
  const { tableName, tablePath, primaryColumns } = repository.metadata;
  if (tablePath !== tableName) throw new Error(`the entity of ${tablePath} must not name a schema`);
  const key = primaryColumns.map(({ databaseName }) => databaseName);
  return repository
    .createQueryBuilder('t')
    .addCommonTableExpression(formerRows(tableName, key, momentMs), tableName)
    .orderBy(order)
    .getMany();
}

/**
 * A key that a later change names has the row from before the first of these changes. It has none if that change made
 * the row: then side 2, the new row, is the first one that is there. Every other key has its present row.
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
      from public.history
      cross join lateral unnest(array[old_row, new_row]) with ordinality as sides (row_there, side)
      where table_name = '${table}' and row_there is not null
        and (transaction_id, begun_at) in (select transaction_id, begun_at from later_transaction)
      order by key, id, side
    ),
    present as (
      select array[${keyOfRow}] as key, row_there
      from public.${table} as t
      cross join lateral to_jsonb(t) as row_there
    )
    select former.*
    from first_change
    -- PostgreSQL cannot make a full join a nested loop, which would compare each of 20,000 rows with each
    full join present using (key)
    cross join lateral jsonb_populate_record(
      null::public.${table}, coalesce(first_change.row_there, present.row_there)
    ) as former
    where side is distinct from 2`;
}
