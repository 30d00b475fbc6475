import type { EntityManager } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode } from '../database/entities.js';
import { describeTable } from '../database/tables.js';
import { type CodeRows, assertServable } from './code-rows.js';

/** A snapshot that is older than a TRUNCATE would see the table empty: this is the first query of a transaction. */
export const lockTables = (manager: EntityManager): Promise<unknown> =>
  manager.query(
    `lock table public.area_property, public.code_list_value, public.communication_code in access share mode`,
  );

/**
 * The rows of all moments, in the order of the answers.
 * @throws UnservableRows if they cannot be served
 */
export async function readCodes(manager: EntityManager): Promise<CodeRows> {
  const rows = {
    properties: await readRows(manager, AreaProperty),
    values: await readRows(manager, CodeListValue),
    records: await readRows(manager, CommunicationCode),
  };
  assertServable(rows);
  return rows;
}

/**
 * All rows of a table, in the order of its entity. Not by `find()`: where a primary key was dropped, it would make one
 * entity of rows with the same key, and nobody would see that there are two.
 */
async function readRows<Row extends object>(manager: EntityManager, entity: new () => Row): Promise<Row[]> {
  const { columns } = manager.dataSource.getMetadata(entity);
  const query = manager.createQueryBuilder(entity, 'entry').select([]);
  for (const { propertyName } of columns) query.addSelect(`entry.${propertyName}`, propertyName);
  for (const column of describeTable(entity).order) query.addOrderBy(`entry.${column}`);
  const rows = await query.getRawMany<Record<string, unknown>>();
  const { driver } = manager.dataSource;
  for (const row of rows) {
    for (const column of columns) {
      row[column.propertyName] = driver.prepareHydratedValue(row[column.propertyName], column);
    }
  }
  return rows as Row[];
}
